"""Loops over links in machine code against the same loops in Python, on random trees."""

import pickle

import numpy as np
import pytest

from dalembert.codegen.function import SweepFunction
from dalembert.codegen.link_sweeps import Location, Members, Storage, Sweep, Sweeps, step_of, table_of
from dalembert.codegen.llvm import _machine_code
from dalembert.symbolic.graph import GRAPH

pytest.importorskip("llvmlite")

NONE = np.zeros(0)
FAR, SINE, LENGTH = Location(Storage.PASSED, 0), Location(Storage.LINK, 0), Location(Storage.NUMBER, 0)
Q, OUT = Location(Storage.ROW, 0), Location(Storage.ROW, 1)


def toy() -> Sweeps:
    """Two link types: one adds length × q to the value of its parent and stores a sine, one subtracts q and stores a cosine."""
    far, q = FAR.symbol, Q.symbol
    first = {FAR: far + LENGTH.symbol * q, SINE: GRAPH.sin(far + LENGTH.symbol * q)}
    second = {FAR: far - q, SINE: GRAPH.cos(far)}
    outwards = Sweep(True, 1, (step_of(first), step_of(second)))
    back = {FAR: far + SINE.symbol, OUT: far * SINE.symbol}
    more = {FAR: far + SINE.symbol + 1, OUT: far + SINE.symbol}
    return Sweeps((1, 1), (2, 2), (1, 0), (outwards, Sweep(False, 1, (step_of(back), step_of(more)))))


class RandomTree:
    """A random tree of these link types."""

    def __init__(self, n: int, seed, chain=False):
        random = np.random.default_rng(seed)
        self.parents = [-1] + [int(random.integers(-1 if random.random() < 0.1 else 0, i)) for i in range(1, n)]
        if chain:
            self.parents = list(range(-1, n - 1))
        self.kinds, self.lengths = random.integers(2, size=n), random.normal(size=n)
        members = []
        for kind in (0, 1):
            at = np.flatnonzero(self.kinds == kind)
            members.append(Members(at, np.stack([at, at], 1), self.lengths[at, None][:, : 1 - kind]))
        self.table = table_of(toy(), self.parents, members, [[0.5]])
        self.function = SweepFunction(toy(), self.table, n, n)

    def expected(self, x):
        """The same computation in Python."""
        n = len(self.parents)
        far, stored, total, out = (np.zeros_like(x) for _ in range(4))
        for i, parent in enumerate(self.parents):
            before = far[parent] if parent >= 0 else np.full(x.shape[1:], 0.5)
            far[i] = before - x[i] if self.kinds[i] else before + self.lengths[i] * x[i]
            stored[i] = np.cos(before) if self.kinds[i] else np.sin(far[i])
        for i in reversed(range(n)):
            out[i] = total[i] + stored[i] if self.kinds[i] else total[i] * stored[i]
            if self.parents[i] >= 0:
                total[self.parents[i]] += total[i] + stored[i] + self.kinds[i]
        return out


@pytest.mark.parametrize("n", [1, 2, 5, 30, 200])
@pytest.mark.parametrize("batch", [1, 3, 4, 16, 37])
def test_machine_code_agrees_with_python(n, batch):
    tree = RandomTree(n, seed=n)
    x = np.random.default_rng(1).normal(size=(n, batch))
    assert np.abs(tree.function(x, NONE) - tree.expected(x)).max() <= 1e-13 * n * max(
        1.0, np.abs(tree.expected(x)).max()
    )


def test_one_state_every_lane_and_every_thread_have_the_same_bits():
    tree = RandomTree(60, seed=2)
    x = np.random.default_rng(3).normal(size=(60, 301))
    many = tree.function(x, NONE)
    assert (many == tree.function(x, NONE, threads=4)).all()
    assert all((tree.function(x[:, k], NONE) == many[:, k]).all() for k in range(0, 301, 7))


def test_a_chain_of_any_length_passes_through_one_slot():
    slots = [RandomTree(n, seed=1, chain=True).table.view(np.int64)[2:4].tolist() for n in (5, 50, 10000)]
    assert slots == [[2, 3]] * 3  # including the slots of the world, of zeros and of values passed to the world


def test_memory_grows_with_the_stored_values():
    words = RandomTree(10000, seed=1, chain=True).table.view(np.int64)
    assert words[0] == words[1] == 10000


def test_ten_thousand_links_agree_with_python():
    tree = RandomTree(10000, seed=4, chain=True)
    x = np.random.default_rng(5).normal(size=(10000, 5)) * 1e-2
    assert np.abs(tree.function(x, NONE) - tree.expected(x)).max() <= 1e-9 * np.abs(tree.expected(x)).max()


def test_sweeps_pickle_with_equal_digests():
    sweeps = toy()
    again = pickle.loads(pickle.dumps(sweeps))  # noqa: S301
    assert again == sweeps
    assert again.digest == sweeps.digest == toy().digest
    other = Sweeps(sweeps.stored, sweeps.rows, sweeps.numbers, sweeps.sweeps[:1])
    assert other.digest != sweeps.digest


def test_code_is_found_in_the_disk_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    sweeps, target = toy(), _machine_code.host_target(many=True)
    _machine_code.MachineCode(sweeps, target)
    assert len(list(tmp_path.glob("*.o"))) == 1
    monkeypatch.setattr(_machine_code, "_compiled", lambda text: pytest.fail("it was compiled again"))
    _machine_code.MachineCode(sweeps, target)


def test_trees_of_the_same_link_types_share_their_code():
    first, second = RandomTree(5, seed=1), RandomTree(90, seed=2)
    x = np.zeros((90, 8))
    first.function(x[:5], NONE)
    second.function(x, NONE)
    assert first.function._many is second.function._many
