"""The tutorials on exported code print the documented output, if the required libraries are installed."""

import pytest
import tutorial_code


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "library"), tutorial_code.NEEDS.items())
def test_tutorials_on_exported_code_print_the_documented_output(name, library, tmp_path):
    pytest.importorskip(library, reason=f"{library} is not installed: make exports installs it")
    assert tutorial_code.mismatches(name, tmp_path) == []
