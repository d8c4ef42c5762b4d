"""Damaged or foreign .nc files are rejected with an error that names the file and the problem; unusual names survive saving."""

import contextlib
import json
import random

import numpy as np
import pytest
import xarray
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dalembert as dl
from dalembert.api.trajectory import load_run
from dalembert.display.dataset import netcdf_bytes
from dalembert.io.files import with_checksum
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.model.values import is_name


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A run and the bytes of its file."""
    run = dl.simulate("cart-pendulum", 0.2, samples=5, integrator="dop853")
    path = run.save(tmp_path_factory.mktemp("saved") / "run.nc")
    return run, path.read_bytes()


def damaged(content: bytes, seed: int) -> bytes:
    """Cut, with bytes changed, blanked, removed, inserted or exchanged; the same seed gives the same damage."""
    r, data = random.Random(seed), bytearray(content)
    at, length = r.randrange(len(data)), r.randrange(1, 200)
    match seed % 6:
        case 0:
            return bytes(data[:at])
        case 1:
            for _ in range(r.choice((1, 3, 30))):
                data[r.randrange(len(data))] ^= r.randrange(1, 256)
        case 2:
            data[at : at + length] = bytes(b ^ 0xFF for b in data[at : at + length])
        case 3:
            del data[at : at + length]
        case 4:
            data[at:at] = r.randbytes(length)
        case _:
            return bytes(data[at:] + data[:at]) if at else b""
    return bytes(data)


@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(k, marks=pytest.mark.nightly) for k in range(30, 1000))])
def test_damaged_file_is_rejected(saved, tmp_path, seed):
    path = tmp_path / "damaged.nc"
    path.write_bytes(damaged(saved[1], seed))
    with pytest.raises(dl.InputError, match=r"damaged\.nc' cannot be read as a run: it (has no|does not match)"):
        load_run(path)


def test_intact_file_is_readable_by_dalembert_and_xarray(saved, tmp_path):
    run, content = saved
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    again = load_run(path)
    assert np.array_equal(again.q, run.q)
    assert np.array_equal(again.energy, run.energy)
    assert np.array_equal(xarray.load_dataset(path)["q"], run.q)  # the checksum does not disturb other readers


def changed(content, tmp_path, change):
    """A file with a valid checksum and a changed dataset."""
    path = tmp_path / "changed.nc"
    path.write_bytes(content)
    data = change(xarray.load_dataset(path))
    path.write_bytes(with_checksum(netcdf_bytes(data)))
    return path


NIGHTLY = pytest.mark.nightly
NUMBERS = ("qdd", *(pytest.param(name, marks=NIGHTLY) for name in ("v", "values", "jacobi", "body_rotation")))


@pytest.mark.parametrize("name", NUMBERS)
def test_missing_variable_is_reported(saved, tmp_path, name):
    path = changed(saved[1], tmp_path, lambda data: data.drop_vars(name))
    with pytest.raises(dl.InputError, match=rf"changed\.nc'.*{name}"):
        load_run(path)


@pytest.mark.parametrize("name", NUMBERS)
def test_wrong_type_is_reported(saved, tmp_path, name):
    path = changed(saved[1], tmp_path, lambda data: data.assign({name: data[name].astype(str).astype(object)}))
    with pytest.raises(dl.InputError, match=rf"changed\.nc'.*'{name}' has type .* Expected float64"):
        load_run(path)


@pytest.mark.parametrize("name", NUMBERS)
def test_wrong_shape_is_reported(saved, tmp_path, name):
    def change(data):
        dims, values = [f"short_{name}" for name in data[name].dims], data[name].to_numpy()[:-1]
        return data.drop_vars(name).assign({name: (dims, values)})

    path = changed(saved[1], tmp_path, change)
    with pytest.raises(dl.InputError, match=rf"changed\.nc'.*'{name}' has shape .* Expected"):
        load_run(path)


RECORDS = (
    *("model", "formalism", "segments", "records", "model_notes", "engine", "joints", "loads", "bodies", "parameters"),
    *("integrator", "cpu_seconds", "notes", "working", "impulses"),
)


VALUES = ("nonsense", None, 3, [1, 2], {"a": {}}, [None])


@pytest.mark.parametrize("key", [*RECORDS[:4], *(pytest.param(key, marks=NIGHTLY) for key in RECORDS[4:])])
@pytest.mark.parametrize(
    "value", [VALUES[0], *(pytest.param(x, marks=pytest.mark.nightly) for x in VALUES[1:])], ids=str
)
def test_changed_record_is_read_or_rejected(saved, tmp_path, key, value):
    def change(data):
        record = json.loads(data.attrs["dalembert_run"])
        return data.assign_attrs(dalembert_run=json.dumps(record | {key: value}))

    path = changed(saved[1], tmp_path, change)
    with contextlib.suppress(dl.InputError):
        load_run(path)


def test_other_netcdf_file_is_rejected(tmp_path):
    path = tmp_path / "other.nc"
    data = xarray.Dataset({"temperature": (("x",), np.arange(3.0))})
    data.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(dl.InputError, match=r"other\.nc' cannot be read as a run: it has no checksum"):
        load_run(path)
    path.write_bytes(with_checksum(path.read_bytes()))
    with pytest.raises(dl.InputError, match=r"other\.nc' is not a valid saved run"):
        load_run(path)
    path.write_bytes(with_checksum(b"no NetCDF at all"))
    with pytest.raises(dl.InputError, match=r"other\.nc' cannot be read as a run"):
        load_run(path)
    with pytest.raises(dl.InputError, match="absent"):
        load_run(tmp_path / "absent.nc")


# names

ODD = (
    "a b",
    "a/b",
    "a.b",
    "αβ",
    "a'b",
    'a"b',
    "a\\b",
    "é",
    "e\u0301",
    "\U0001f600",
    "[x]",
    "#x",
    "ﬁ",
    "a=1",
    "x" * 100,
    "  ",
)
REFUSED = ("a\nb", "a\tb", "a\0b", "", "a\rb", "\u202eab", "\ud800", "a\u2028b", "x" * 101, "\x7f", "a\x1b[31m")


def named(name, kind="model"):
    """A model with one unusual name."""
    names = {"model": "m", "load": "f", "constraint": "c", "event": "e", kind: name}
    model = dl.Model(names["model"]).coordinates("x", "y")
    model.body("b", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.force("b", ["-x", 0, 0], name=names["load"])
    model.nonholonomic("dot(y) - dot(x)", name=names["constraint"])
    return model.event(names["event"], when="x - 3")


KINDS = ("model", "load", "constraint", "event")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_unprintable_or_too_long_name_is_rejected(name, kind):
    if not name and kind in ("load", "constraint"):
        assert named(name, kind).check() == []  # they get a name
        return
    with pytest.raises(dl.InputError, match=r"invalid name\. Expected 1 to 100 printable characters"):
        named(name, kind)


def test_description_with_control_characters_is_rejected():
    with pytest.raises(dl.InputError, match="description"):
        dl.Model("m", description="a\0b")
    with pytest.raises(dl.InputError, match="coordinate 'x', description"):
        dl.Model("m").coordinate("x", description="a\x1bb")
    assert dl.Model("m", description="two\n\tlines").text == "two\n\tlines"


def test_unusual_names_survive_saving(tmp_path):
    """All of them in one model."""
    model = named("αβ/γ δ.ε 'ζ' \"η\"")
    for name in ODD:
        model.force("b", [0, 1, 0], name=f"load {name}"[:100]).event(name, when="x - 3")
    run = simulated(model)
    again = load_run(run.save(tmp_path / "run.nc"))
    assert again.model == run.model
    assert again.work.keys() == run.work.keys()
    assert np.array_equal(again.q, run.q)


def simulated(model):
    return dl.derive(model, engine="python").simulate(0.1, samples=2, integrator="rk4")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=110), st.sampled_from(KINDS))
@example("\x85", "load")
@example("\u200b", "event")
def test_any_name_is_rejected_or_survives_a_model_file(tmp_path, name, kind):
    if not name and kind in ("load", "constraint"):
        return  # they get a name
    if not is_name(name):
        with pytest.raises(dl.InputError):
            named(name, kind)
        return
    model = named(name, kind)
    assert loads_toml(to_toml(model)).description == model.description
