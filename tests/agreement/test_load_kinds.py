"""Every load type, together and one by one: all formalisms, the recursion and the principle agree."""

import pytest

import dalembert as dl
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.model.loads import LOADS
from dalembert.model.model import Model

ENDS = {"bodies": ("upper", "lower"), "points": ((0.1, -1.5, 0.2), (0.6, 0.3, 0))}
SIX = {"stiffness": (8, 5, 3, 2, 4, 1), "damping": (1, 2, 3, 0.3, 0.2, 0.1)}
TOUCHING = {"stiffness": 2, "damping": 0.1, "friction": 0.3, "smoothing": 0.5}  # below the ground at every state
KINDS = {
    "force": lambda m: m.force("lower", ("2*cos(t)", 1, "-b"), point=(0.5, 0.1, 0), frame="upper"),
    "torque": lambda m: m.torque("lower", ("2*cos(t)", 1, "-b"), reaction="upper"),
    "joint_torque": lambda m: m.joint_torque("lower", "3*sin(t) - dot(a)"),
    "motor": lambda m: m.motor("lower", stall_torque="k", no_load_speed=5, command="sin(t)"),
    "dc_motor": lambda m: m.dc_motor("upper", voltage="3*sin(t)", resistance=2, torque_constant=0.4, ratio=3),
    "sphere_on_plane": lambda m: m.sphere_on_plane("lower", radius=5, **TOUCHING),
    "sphere_on_sphere": lambda m: m.sphere_on_sphere("lower", radius=3, ground_radius=2, **TOUCHING),
    "sphere_on_box": lambda m: m.sphere_on_box("lower", (1, 2, 3), radius=4, position=(3, 0, 0), **TOUCHING),
    "disk_on_plane": lambda m: m.disk_on_plane("lower", 5, axis=(0, 1, 1), **TOUCHING),
    "ellipsoid_on_plane": lambda m: m.ellipsoid_on_plane("lower", (6, 5, 4), rotation=(0.1, 0.2, 0.3), **TOUCHING),
    "joint_spring": lambda m: m.joint_spring("lower", stiffness=4, rest=0.3, damping=0.2),
    "joint_strut": lambda m: m.joint_strut(
        "lower", pull="k*angle**3 + rate*cos(t)", rate_curve=[[-2, -1], [0, 0], [1, 4]]
    ),
    "joint_friction": lambda m: m.joint_friction(
        "lower", viscous=0.3, coulomb=(0.5, 0.7), static=(0.9, 0.8), stribeck=0.6, smoothing=0.2
    ),
    "joint_stop": lambda m: m.joint_stop("lower", lower=2, upper=3, stiffness="k", dissipation=0.2, exponent="3/2"),
    "backlash": lambda m: m.backlash(("upper", "lower"), "k", play=0.1, phase=5, stiffness=4, damping=0.1),
    "spring": lambda m: m.spring(stiffness=8, natural_length=0.4, **ENDS),
    "damper": lambda m: m.damper(damping=2, **ENDS),
    "strut": lambda m: m.strut(pull="k*(length - 1/2)**3 + rate*length", curve=[[0, -1], [1, 0], [3, 9]], **ENDS),
    "bushing": lambda m: m.bushing(rotations=((0.1, 0.2, 0.3), {"axis": (1, 1, 0), "angle": 0.4}), **SIX, **ENDS),
    "drag": lambda m: m.drag("lower", density=1.2, area=2, coefficient=0.7, wind=(1, "t", 0), point=(0.6, 0.3, 0)),
    "point_gravity": lambda m: m.point_gravity(("upper", "lower"), mu="k", point=(0.2, 1, 0)),
    "tire": lambda m: m.tire("lower", radius=0.3, load="5 + a", stiffness=(3, 2), mu=0.8, normal=(0.2, 1, 0.3)),
}


def arm(*kinds: str) -> Model:
    """Two links with inclined axes and loads."""
    model = (
        Model("arm", gravity=(1.0, -9.81, 2.0)).parameters(k=3.0).coordinate("a", 0.4, 0.5).coordinate("b", -0.3, 0.2)
    )
    solid = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
    model.body("upper", joint=model.revolute((0, 0, 1), "a", rotation=(0.2, 0.1, 0)), **solid)
    place = {"position": (0.7, 0.1, 0.2), "rotation": {"sequence": "zxz", "angles": (0.3, 0.4, 0.1)}}
    model.body("lower", parent="upper", joint=model.revolute((0, 1, 0), "b", **place), **solid)
    for kind in kinds:
        KINDS[kind](model)
    return model


def agrees(model: Model) -> None:
    found = dl.verify(model, states=4, engines=["python"])
    assert {each.status for each in found.formalisms.values()} == {"agrees"}
    assert found.principle is not None
    assert found.recursion is not None
    assert (found.principle.status, found.recursion.status) == ("agrees", "agrees")


def test_every_load_type_is_covered():
    assert {kind.kind for kind in LOADS} == set(KINDS)


def test_energies_forces_wrenches_and_recursion_agree_on_all_loads_from_a_file():
    model = loads_toml(to_toml(arm(*KINDS)))
    assert [load for load in model.loads if load not in arm(*KINDS).loads] == []
    q, qd = model.initial
    known = dl.derive(model, "lagrange", engine="python").accelerations(q, qd, 0.3)
    for key in ("kane", "newton_euler"):
        assert dl.derive(model, key, engine="python").accelerations(q, qd, 0.3) == pytest.approx(known, rel=1e-11)
    assert dl.forward_dynamics(model, q, qd, t=0.3, friction=True) == pytest.approx(known, rel=1e-11)


@pytest.mark.nightly
def test_all_formalisms_agree_on_all_loads_at_once():
    agrees(arm(*KINDS))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_all_formalisms_agree_on_every_load(kind):
    agrees(arm(kind))


@pytest.mark.nightly
def test_machine_code_and_taylor_series_support_every_smooth_load():
    model = arm(*(kind for kind in KINDS if "strut" not in kind))
    run, twin = (dl.derive(model, key).simulate(0.5, samples=4) for key in ("lagrange", "newton_euler"))
    assert run.q == pytest.approx(twin.q, abs=1e-10)
    assert run.energy_error < 1e-10
