"""`dalembert symmetries`: the table and JSON."""


def test_prints_generators_and_brackets(run):
    found = run("symmetries", "three-bodies", "--seed", "1")
    assert found.code == 0
    assert "{psi: 1, X: -Y, Y: X}" in found.out
    assert "p(psi) - Y*p(X) + X*p(Y)" in found.out
    assert "[0, 3]" in found.out


def test_generators_as_json(run):
    found = run("symmetries", "chaplygin-sleigh", "--json")
    assert found.code == 0
    assert [each["conserved"] for each in found.data["generators"]] == [False, False, False]
    assert found.data["generators"][2]["A"][0] == ["0", "-1", "0"]
    assert found.data["brackets"][0] == {"of": [0, 2], "terms": {"1": "1"}}
