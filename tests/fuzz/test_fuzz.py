"""No input raises an exception from outside the package, takes longer than 2 s or needs more than 500 MB."""

import pytest
from fuzz_runner import outcomes

CHUNK = 1000


def require_sound(first):
    wrong = [each for each in outcomes(first, CHUNK) if not each.sound]
    assert not wrong, "\n".join(map(str, wrong[:20]))


@pytest.mark.parametrize("chunk", range(1))
def test_inputs_are_read_or_rejected(chunk):
    require_sound(chunk * CHUNK)


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(1, 100))
def test_many_inputs_are_read_or_rejected(chunk):
    require_sound(chunk * CHUNK)
