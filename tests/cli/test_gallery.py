"""`dalembert gallery`."""

from __future__ import annotations

from dalembert.io import gallery


def test_lists_every_example(run):
    found = run("gallery")
    assert found.code == 0
    for name in gallery.names():
        line = next(line for line in found.out.splitlines() if line.startswith(name))
        assert line.split()[1] == str(len(gallery.load(name).coordinate_names))
        assert gallery.load(name).text in line


def test_list_as_json(run):
    models = run("gallery", "--json").data["models"]
    assert [model["name"] for model in models] == list(gallery.names())
    cart = next(model for model in models if model["name"] == "cart-pendulum")
    assert cart["coordinates"] == ["theta1", "theta2", "x"]
    assert cart["constraints"] == ["wheel"]


def test_description_is_rendered(run):
    found = run("gallery", "cart-pendulum")
    assert found.code == 0
    assert "Cart with a two-rod pendulum" in found.out
    assert "# Cart" not in found.out
    assert max(map(len, found.out.splitlines())) <= 110


def test_description_as_json(run):
    found = run("gallery", "cart-pendulum", "--json").data
    assert found["markdown"] == gallery.read_description("cart-pendulum")
    assert found["expected"]["equations"]["volterra_reduced"] == 1
    assert found["files"] == []


def test_unknown_example(run):
    found = run("gallery", "cart-pendulm")
    assert found.code == 2
    assert "there is no example 'cart-pendulm'. Did you mean 'cart-pendulum'?" in found.err


def test_plot_requires_an_example(run):
    found = run("gallery", "--plot", "x.png")
    assert found.code == 2
    assert "gallery --plot: the name of an example is missing." in found.err


def test_writes_a_plot(run, tmp_path):
    found = run("gallery", "simple-pendulum", "--plot", "pictures/pendulum.svg")
    assert found.code == 0
    assert found.out.splitlines()[-1] == "written: pictures/pendulum.svg"
    assert (tmp_path / "pictures/pendulum.svg").stat().st_size > 1000
