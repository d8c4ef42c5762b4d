"""What is on disk survives; what is not whole is made again; another question is refused."""

import json

import numpy as np
import pytest

import dalembert as dl


def asked(folder, **more):
    options = {"duration": 1.0, "times": 5, "chunk": 4, "workers": 1, **more}
    vary = {"l": np.linspace(0.5, 1.5, 20), "m": [1.0]} if "vary" not in options else options.pop("vary")
    return dl.sweep("simple-pendulum", vary, observe=["theta", "max(energy)"], checkpoint=folder, **options)


def stopped_after(chunks):
    return lambda fraction: fraction * 5 >= chunks - 0.5


def test_a_sweep_goes_on_where_it_was(tmp_path):
    whole = asked(tmp_path / "whole")
    with pytest.raises(dl.InputError, match="rerun the same call to resume"):
        asked(tmp_path / "part", progress=stopped_after(2))
    told = []
    found = asked(tmp_path / "part", progress=lambda fraction: told.append(fraction) or None)
    assert found.equals(whole)
    assert isinstance(found["theta"].data, np.memmap)  # read when it is looked at
    assert told == [0.6, 0.8, 1.0]
    assert asked(tmp_path / "part", progress=lambda fraction: told.append(fraction)).equals(whole)
    assert len(told) == 3


def test_a_line_that_was_cut_off_and_numbers_that_are_not_whole_are_made_again(tmp_path):
    whole = asked(tmp_path)
    journal = tmp_path / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:-7])
    numbers = np.lib.format.open_memmap(tmp_path / "0.npy", mode="r+")
    numbers[9, 2] += 1.0
    numbers.flush()
    again = []
    assert asked(tmp_path, progress=lambda fraction: again.append(fraction) or None).equals(whole)
    assert len(again) == 2
    assert [json.loads(line)["chunk"] for line in journal.read_text().splitlines()][-2:] == [2, 4]


def test_another_question_is_refused(tmp_path):
    asked(tmp_path)
    with pytest.raises(dl.InputError, match="belongs to another sweep"):
        asked(tmp_path, duration=2.0)
    with pytest.raises(dl.InputError, match="belongs to another sweep"):
        asked(tmp_path, vary={"l": np.linspace(0.5, 1.6, 20), "m": [1.0]})


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(dl.InputError, match="other files"):
        asked(tmp_path)


def test_reasons_come_back_from_disk(tmp_path):
    vary = {"m": [1.0, -1.0, 2.0]}
    first = asked(tmp_path, vary=vary)
    again = asked(tmp_path, vary=vary)
    assert "mass" in str(again["reason"].values[1])
    assert again.equals(first)
