"""The displayed equations are those of the formulation: every simplified block and law is proved equal to its raw form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import symengine as se
from gallery_models import equations, up_to

from dalembert.api.derive import equations_of
from dalembert.api.equation_display import DerivationDisplay
from dalembert.display.math.quantity_blocks import Block
from dalembert.display.math.short_forms import DisplayNotation, TooLong
from dalembert.errors import NotApplicableError
from dalembert.formalisms import catalog
from dalembert.io import gallery

SAMPLE = [
    ("double-pendulum", "denoc"),
    ("slider-crank-2", "lagrange"),
    ("spherical-pendulum", "phong"),
]


@pytest.fixture(scope="module")
def hamilton() -> DerivationDisplay:
    return equations_of(gallery.load("double-pendulum"), "hamilton")._display


def unproved(reading: DerivationDisplay) -> list[str]:
    """Blocks and laws without proof; those that are too long to print are not checked."""
    blocks = [key for key, block in reading.blocks.items() if not block.is_long and block.proved != "proved"]
    return [*blocks, *(law.words for law in reading.laws if not law.unwritten and law.proved != "proved")]


@pytest.mark.parametrize(("name", "key"), SAMPLE)
def test_blocks_and_laws_are_proved(name: str, key: str) -> None:
    reading = equations_of(gallery.load(name), key)._display
    assert unproved(reading) == []
    # trivial proofs would pass too: check that something was simplified
    assert any((block.raw != block.entries).any() for block in reading.blocks.values() if not block.is_text)


def test_blocks_without_entries_report_it() -> None:
    reading = equations_of(gallery.load("tracking"), "nullspace")._display  # no degrees of freedom
    empty = [block for block in reading.blocks.values() if not block.entries.size]
    assert empty
    for block in empty:
        assert str(block).endswith("it has no entries")
        assert "it has no entries" in block.to_latex()
        assert "it has no entries" in block._repr_html_()
        assert block.proved == "proved"


def readable() -> list[tuple[str, str]]:
    """All models with up to 8 coordinates by all formulations."""
    return [(name, key) for name in up_to(8) for key in catalog.KEYS]


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "key"), readable())
def test_all_blocks_and_laws_are_proved(name: str, key: str) -> None:
    try:
        reading = equations(name, key)._display
        assert unproved(reading) == []
    except (NotApplicableError, TooLong) as reason:
        pytest.skip(str(reason))


def mutated(block: Block, change: se.Basic) -> Block:
    entries = block.entries.copy()
    nonzero = next(index for index in np.ndindex(*entries.shape) if entries[index] != 0)
    entries[nonzero] = entries[nonzero] + change
    return replace(block, entries=entries)


@pytest.mark.parametrize("change", [se.Rational(1, 10**12), se.sin(se.Symbol("theta1")), se.Symbol("m1")])
def test_a_wrong_block_is_refuted(hamilton: DerivationDisplay, change: se.Basic) -> None:
    assert unproved(hamilton) == []
    for key in ("M", "D", "H"):
        assert mutated(hamilton.blocks[key], change).proved == "different", key


def test_a_wrong_meaning_and_a_wrong_law_are_refuted(hamilton: DerivationDisplay) -> None:
    block, law = hamilton.blocks["H"], hamilton.laws[-1]
    last = block.meanings[-1]
    assert replace(block, entries=block.expanded, meanings=()).proved == "different"  # the raw form uses names
    assert replace(block, entries=block.expanded).proved == "proved"
    assert (
        replace(block, entries=block.expanded, meanings=(*block.meanings[:-1], (last[0], 2 * last[1]))).proved
        == "different"
    )
    assert replace(law, left=-law.left).proved == "different"


def test_raw_form_is_displayed_and_reported_without_time() -> None:
    derivation = equations_of(gallery.load("double-pendulum"), "lagrange").derivation
    quick, full = DerivationDisplay(derivation, budget=1e-9), DerivationDisplay(derivation)
    assert quick.blocks["M"].proved == "proved"
    assert quick.blocks["M"].operations > full.blocks["M"].operations
    assert "budget of 1e-09 s was exceeded" in quick.budget_message
    assert full.budget_message == ""


def test_time_budget_is_shared_and_reported() -> None:
    x, m = se.Symbol("x"), se.Symbol("m")
    shares: list[float] = []
    short = DisplayNotation([], seconds=100.0)
    short.report_progress(shares.append)
    short.short(np.array([m * se.sin(x) ** 2 + m * se.cos(x) ** 2, m + 2 * m * se.cos(x) ** 2], dtype=object))
    assert len(shares) == 2
    assert 0 < shares[0] < shares[1] < 0.5
    assert not short.unfinished
