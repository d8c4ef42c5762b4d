"""Evaluation of a batch by threads does not change the results."""

import re
import threading

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen import function
from dalembert.errors import InputError


def batch(eom, count):
    q, qd = eom.model.initial
    return (x[:, None] + np.random.default_rng(9).uniform(-0.3, 0.3, (len(q), count)) for x in (q, qd))


@pytest.mark.parametrize(("name", "key"), [("three-bodies", "kane"), ("heavy-top", "routh")])
def test_results_do_not_depend_on_the_number_of_threads(name, key, monkeypatch):
    eom = dl.derive(dl.load(name), key)
    q, qd = batch(eom, 3001)
    made = []

    class Counted(function.ThreadPoolExecutor):
        def __init__(self, workers):
            made.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(function, "ThreadPoolExecutor", Counted)
    alone = eom.accelerations(q, qd, np.linspace(0, 1, 3001))
    assert made == []
    for threads in (2, 3, 7):
        shared = eom.accelerations(q, qd, np.linspace(0, 1, 3001), threads=threads)
        assert np.array_equal(shared, alone)
    # at most as many as there are states for: wide lanes need fewer threads
    assert made[:2] == [2, 3]
    assert 3 < made[2] <= 7
    assert np.isfinite(alone).all()
    assert threading.active_count() == 1


def test_small_batches_use_no_threads():
    eom = dl.derive(dl.load("double-pendulum"), "kane")
    q, qd = batch(eom, 5)
    many = eom.accelerations(q, qd, threads=4)
    assert np.array_equal(many, eom.accelerations(q, qd))
    assert np.array_equal(eom.accelerations(q[:, 2], qd[:, 2], threads=4), many[:, 2])


@pytest.mark.parametrize("threads", [0, -2, 1.5, True, "two", None])
def test_invalid_numbers_of_threads_are_rejected(threads):
    eom = dl.derive(dl.load("simple-pendulum"), "kane")
    message = f"accelerations, threads: got {threads!r}. Expected an int >= 1."
    with pytest.raises(InputError, match=re.escape(message)):
        eom.accelerations([0.1], [0.0], threads=threads)
