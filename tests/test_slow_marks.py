"""`slow(seconds)` moves a test to the nightly run if it takes long enough.

If long tests were not moved, the last two would run daily, and fail.
"""

import pytest


def is_nightly(request):
    return request.node.get_closest_marker("nightly") is not None


@pytest.mark.slow(0.5)
def test_short_tests_run_daily(request):
    assert not is_nightly(request)


@pytest.mark.slow(100)
def test_long_tests_run_nightly(request):
    assert is_nightly(request)


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("seconds", [pytest.param(100, marks=pytest.mark.slow(100))])
def test_the_largest_of_several_durations_counts(request, seconds):
    assert is_nightly(request)
