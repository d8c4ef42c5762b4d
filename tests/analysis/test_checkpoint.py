"""Checkpoints of sweeps: complete chunks are reused, incomplete ones recomputed, other sweeps rejected."""

import json

import numpy as np
import pytest

import dalembert as dl


def swept(folder, **more):
    options = {"duration": 1.0, "times": 5, "chunk": 4, "workers": 1, **more}
    vary = {"l": np.linspace(0.5, 1.5, 20), "m": [1.0]} if "vary" not in options else options.pop("vary")
    return dl.sweep("simple-pendulum", vary, observe=["theta", "max(energy)"], checkpoint=folder, **options)


def stopped_after(chunks):
    return lambda fraction: fraction * 5 >= chunks - 0.5


def test_a_stopped_sweep_resumes(tmp_path):
    complete = swept(tmp_path / "complete")
    with pytest.raises(dl.InputError, match="rerun the same call to resume"):
        swept(tmp_path / "part", progress=stopped_after(2))
    fractions = []
    found = swept(tmp_path / "part", progress=lambda fraction: fractions.append(fraction) or None)
    assert found.equals(complete)
    assert isinstance(found["theta"].data, np.memmap)  # read on access
    assert fractions == [0.6, 0.8, 1.0]
    assert swept(tmp_path / "part", progress=lambda fraction: fractions.append(fraction)).equals(complete)
    assert len(fractions) == 3


def test_incomplete_lines_and_corrupt_numbers_are_recomputed(tmp_path):
    complete = swept(tmp_path)
    journal = tmp_path / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:-7])
    numbers = np.lib.format.open_memmap(tmp_path / "0.npy", mode="r+")
    numbers[9, 2] += 1.0
    numbers.flush()
    again = []
    assert swept(tmp_path, progress=lambda fraction: again.append(fraction) or None).equals(complete)
    assert len(again) == 2
    assert [json.loads(line)["chunk"] for line in journal.read_text().splitlines()][-2:] == [2, 4]


def test_another_sweep_is_rejected(tmp_path):
    swept(tmp_path)
    with pytest.raises(dl.InputError, match="belongs to another sweep"):
        swept(tmp_path, duration=2.0)
    with pytest.raises(dl.InputError, match="belongs to another sweep"):
        swept(tmp_path, vary={"l": np.linspace(0.5, 1.6, 20), "m": [1.0]})


def test_a_folder_with_other_files_is_rejected(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(dl.InputError, match="other files"):
        swept(tmp_path)


def test_reasons_are_read_from_disk(tmp_path):
    vary = {"m": [1.0, -1.0, 2.0]}
    first = swept(tmp_path, vary=vary)
    again = swept(tmp_path, vary=vary)
    assert "mass" in str(again["reason"].values[1])
    assert again.equals(first)
