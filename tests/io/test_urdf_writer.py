"""Models written as URDF: reading them gives the same model; unsupported elements are reported."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ComputationError, InputError, ModelError
from dalembert.io.urdf._urdf_reader import loads_urdf, read_urdf
from dalembert.io.urdf.urdf_writer import to_urdf, write_urdf
from dalembert.mechanics import state_batch
from dalembert.mechanics.state_batch import States
from dalembert.model.elements import Limits
from dalembert.model.joints.revolute import Revolute
from dalembert.model.model import Model
from dalembert.symbolic.floats import real


def arm() -> Model:
    """A model with all elements that URDF supports, with parameters."""
    model = Model("arm & hand", gravity=(0, "-g", 0)).parameters(g=9.81, m=1.3, l=1 / 3)
    model.coordinate("turn", 0.3, -0.2).coordinate("slide").coordinates("wrist_a", "wrist_b", "finger")
    model.body("base", joint=model.fixed((0, 0, "l"), (0.1, 0.2, 0.3)), mass="2*m", inertia=(1, 1, 1))
    model.body(
        "upper-arm",
        parent="base",
        joint=model.revolute((1, 2, 3), "turn", position=("l", 0, 0)),
        mass="m",
        center=(0, "l/7", 0.1),
        inertia=(0.5, 0.6, 0.7, 0.01, 0.02, 0.03),
    )
    model.body("fore", parent="upper-arm", joint=model.prismatic((0, 0, -1), "slide"), mass=0.7, inertia=(1, 1, 1))
    hinges = [
        model.revolute((1, 0, 0), "wrist_a", position=(0, 0, 0.2)),
        model.fixed(rotation=(0, 0.4, 0)),
        model.revolute((0, 1, 0), "wrist_b"),
    ]
    model.body("hand", parent="fore", joint=hinges, mass=0.2, inertia=(0.1, 0.1, 0.1))
    model.body("claw", parent="hand", joint=model.revolute((0, 0, 1), "finger"), mass=0.1, inertia=(0.1, 0.1, 0.1))
    model.body("eye", parent="hand", joint=model.fixed())
    model.joint_friction("upper-arm", viscous=0.3, coulomb="m/10", smoothing=1e-3)
    model.joint_spring("hand", damping=0.05, joint=2)
    model.joint_friction("hand", viscous=0.01, joint=2)
    model.limit("turn", lower=-1, upper=2).limit("slide", velocity=3, effort=4).limit("finger", velocity=7)
    model.holonomic("2*finger + 3*wrist_b - m", name="grip")
    model.start({"wrist_b": 0.1, "finger": 0.5}, {})
    model.shape("hand", "box", (0.1, 0.2, 0.3), position=(0, 0, 1), rotation=(0.1, 0, 0), color=(1, 0, 0, 0.5))
    model.shape("hand", "mesh", (1, 1, 2), mesh="a <b>.stl").shape("world", "sphere", (2.0,))
    return model.shape("claw", "capsule", (0.1, 0.2)).shape("base", "cylinder", (0.3, 0.4))


def matrices(model: Model, q: np.ndarray) -> np.ndarray:
    """The mass matrices at a batch of states: M = Σ m BᵀB + Dᵀ I D."""
    count = q.shape[1]
    motion = state_batch.motion_at(model, States(q, np.zeros_like(q), np.zeros(count)))
    M = np.zeros((len(q), len(q), count))
    for body in motion.bodies:
        B, D, inertia = (batch(x, count) for x in (body.B, body.D, body.inertia))
        M += real(body.mass) * np.einsum("xik,xjk->ijk", B, B)
        M += np.einsum("xik,xyk,yjk->ijk", D, inertia, D)
    return M


def batch(entries: np.ndarray, count: int) -> np.ndarray:
    out = np.empty((*entries.shape, count))
    for index in np.ndindex(*entries.shape):
        out[index] = entries[index]
    return out


def test_mass_matrix_round_trip():
    model = arm()
    again = loads_urdf(to_urdf(model))
    assert again.coordinate_names == model.coordinate_names
    q = np.random.default_rng(7).uniform(-2, 2, (5, 4))
    expected = matrices(model, q)
    assert np.abs(expected).max() > 1
    assert np.abs(matrices(again, q) - expected).max() < 1e-14


def test_accelerations_round_trip():
    model = Model("arm", gravity=(0.3, 0, -1.6)).coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 1, 0), "a"), mass=1, center=(1, 0, 0), inertia=(0.1, 0.2, 0.3))
    joint = model.prismatic((1, 0, 1), "b", position=(1, 0, 0.5), rotation=(0.2, 0.3, 0.4))
    model.body("second", parent="first", joint=joint, mass=2, center=(0, 0.1, 0), inertia=(0.3, 0.2, 0.3))
    model.joint_friction("second", viscous=0.2, coulomb=0.4, smoothing=1e-3)
    again = loads_urdf(to_urdf(model))
    q, qd = np.array([0.3, -0.4]), np.array([0.7, 1.1])
    expected = dl.derive(model, "lagrange").accelerations(q, qd)
    assert dl.derive(again, "lagrange").accelerations(q, qd) == pytest.approx(expected, rel=1e-12)


def test_limits_friction_shapes_gravity_and_start_survive():
    model, again = arm(), loads_urdf(to_urdf(arm()))
    assert again.limits == {**model.limits, "turn": Limits(-1, 2), "finger": Limits(velocity=7)}
    assert {load.name: (load.body, float(load.viscous), float(load.coulomb[0])) for load in again.loads} == {  # pyright: ignore[reportAttributeAccessIssue]
        "friction of turn": ("upper-arm", 0.3, 0.13),
        "friction of wrist_b": ("hand", 0.06, 0),
    }
    assert {*again.shapes} == {*model.shapes}
    assert [float(g) for g in again.gravity] == [0, -9.81, 0]
    assert [x.tolist() for x in again.initial] == [x.tolist() for x in model.initial]
    assert again.name == model.name
    assert [body.name for body in again.bodies] == [
        "base",
        "upper-arm",
        "fore",
        "hand_1",
        "hand_2",
        "hand",
        "claw",
        "eye",
    ]


def test_constraints_between_two_joints_become_mimic():
    text = to_urdf(arm())
    assert '<mimic joint="wrist_b" multiplier="-1.5" offset="0.65" />' in text
    (constraint,) = loads_urdf(text).holonomic_constraints
    assert constraint.name == "mimic of finger"
    q = {"finger": 0.8, "wrist_b": 0.3}
    assert float(constraint.phi.subs(q)) == pytest.approx(0.8 + 1.5 * 0.3 - 0.65)


def test_second_round_trip_changes_nothing():
    text = to_urdf(loads_urdf(to_urdf(arm())))
    assert to_urdf(loads_urdf(text)) == text


def test_floating_base_and_planar_joint():
    endings = ("x", "y", "z", "qw", "qx", "qy", "qz")
    model = Model("free", gravity=(0, 0, -9.81)).coordinates(*(f"base_{key}" for key in endings))
    model.coordinates("puck_x", "puck_y", "puck_angle").start({"base_qw": 1.0}, {})
    names = model.coordinate_names
    model.body("hull", joint=model.free(names[:3], quaternion=names[3:7]), mass=1, inertia=(1, 1, 1))
    model.body("puck", parent="hull", joint=model.planar((0, 1, 0), names[7:9], names[9]), mass=1, inertia=(1, 1, 1))
    text = to_urdf(model)
    assert "dalembert" not in text
    again = loads_urdf(text)
    assert again.bodies == model.bodies
    assert again.initial[0].tolist() == model.initial[0].tolist()


def test_numbers_keep_all_their_digits():
    model = Model("digits").coordinates("q")
    mass = 0.1 + 0.2
    model.body("b", joint=model.revolute((1, 1, 1), "q", position=(1 / 3, 1e-17, 0)), mass=mass, inertia=(1 / 7, 1, 1))
    (body,) = loads_urdf(to_urdf(model)).bodies
    assert float(body.mass) == mass
    assert float(body.inertia[0][0]) == 1 / 7
    assert [float(x) for x in body.joints[0].position] == [1 / 3, 1e-17, 0]
    assert isinstance(body.joints[0], Revolute)
    assert isinstance(model.bodies[0].joints[0], Revolute)
    assert body.joints[0].axis == pytest.approx(model.bodies[0].joints[0].axis, rel=2e-16)


def test_file_is_written_atomically(tmp_path):
    path = tmp_path / "new" / "arm.urdf"
    write_urdf(arm(), path)
    assert path.read_text(encoding="utf-8") == to_urdf(arm())
    assert [p.name for p in path.parent.iterdir()] == ["arm.urdf"]
    assert read_urdf(path).coordinate_names == arm().coordinate_names
    (tmp_path / "file").write_text("")
    with pytest.raises(ComputationError, match="cannot write the file"):
        write_urdf(arm(), tmp_path / "file" / "arm.urdf")
    with pytest.raises(InputError, match="not a file name"):
        write_urdf(arm(), "")
    broken = arm().force("hand", (1, 0, 0))
    with pytest.raises(InputError):
        write_urdf(broken, path)
    assert path.read_text(encoding="utf-8") == to_urdf(arm())


def pendulum(motion: str = "a") -> Model:
    model = Model("pendulum").coordinates("a", "b", "c")
    model.body("rod", joint=model.revolute((0, 1, 0), motion), mass=1, center=(1, 0, 0), inertia=(1, 1, 1))
    model.body("bob", parent="rod", joint=model.revolute((0, 1, 0), "b"), mass=1, inertia=(1, 1, 1))
    return model.body("tip", parent="bob", joint=model.prismatic((0, 1, 0), "c"), mass=1, inertia=(1, 1, 1))


REFUSED = {
    "force 'push'": lambda m: m.force("rod", (1, 0, 0), name="push"),
    "torque 'push'": lambda m: m.torque("rod", (1, 0, 0), name="push"),
    "joint_torque 'push'": lambda m: m.joint_torque("rod", "sin(t)", name="push"),
    "spring 'push'": lambda m: m.spring(("rod", "world"), stiffness=1, name="push"),
    "damper 'push'": lambda m: m.damper(("rod", "world"), damping=1, name="push"),
    "joint_spring 'push': URDF has no springs in joints": lambda m: m.joint_spring("rod", stiffness=1, name="push"),
    "joint_friction 'push': its smoothing is 0.1": lambda m: m.joint_friction(
        "rod", coulomb=1, smoothing=0.1, name="push"
    ),
    "rotor 'push': URDF has no motor inertia": lambda m: m.rotor("rod", 1, name="push"),
    "loop 'pin': URDF describes trees": lambda m: m.loop("pin", ("bob", "world"), m.revolute((0, 1, 0), 0)),
    "knife_edge 'edge': URDF has no contacts": lambda m: m.knife_edge("rod", (1, 0, 0), name="edge"),
    "nonholonomic 'slow'": lambda m: m.nonholonomic("dot(a) - dot(b)", name="slow"),
    "holonomic 'curve': URDF has no constraints except": lambda m: m.holonomic("a - b**2", name="curve"),
    "holonomic 'all': URDF has no constraints except": lambda m: m.holonomic("a - b - c", name="all"),
    "holonomic 'drive of a': URDF has no constraints except": lambda m: m.drive("a", "sin(t)"),
    "holonomic 'moved': URDF has no constraints except": lambda m: m.holonomic("a - b - t", name="moved"),
    "holonomic 'servo': URDF has no constraints except": lambda m: m.holonomic("a - b", name="servo", feedback=(1, 1)),
    "non_ideal 'a'": lambda m: m.non_ideal({"a": "-dot(a)"}),
    "speed 'u1': URDF has no quasi-velocities": lambda m: m.speeds("dot(a) + dot(b)"),
    "shape of 'nobody': there is no such body": lambda m: m.shape("nobody", "sphere", (1,)),
    "the mesh of 'rod'": lambda m: m.shape("rod", "mesh", (1, 1, 1), mesh="a\x01"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_rejects_elements_unsupported_by_urdf(message):
    to_urdf(pendulum())
    model = pendulum()
    REFUSED[message](model)
    with pytest.raises(InputError) as caught:
        to_urdf(model)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) > len(message) + 20


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        ("2*a", "body 'rod', joint 0 (revolute): its motion is the formula 2*a."),
        ("a + t", "body 'rod', joint 0 (revolute): its motion is the formula a + t."),
        ("b", "body 'rod', joint 0 (revolute): the coordinate b moves several joints."),
    ],
)
def test_rejects_formulas_as_motions(motion, message):
    model = pendulum(motion)
    if motion == "b":
        model.body("other", joint=model.revolute((1, 0, 0), "a"), mass=1)
    with pytest.raises(InputError) as caught:
        to_urdf(model)
    assert str(caught.value).startswith(message)


def test_rejects_unsupported_urdf_joints():
    model = Model("ball").coordinates("a", "b", "c")
    model.body("ball", joint=model.spherical(("a", "b", "c")), mass=1, inertia=(1, 1, 1))
    with pytest.raises(InputError, match=r"body 'ball', joint 0 \(spherical\): URDF has no such joint. Use a sequence"):
        to_urdf(model)


def test_rejects_names_that_the_reader_would_change():
    model = Model("puck").coordinates("x", "y", "angle")
    model.body("puck", joint=model.planar((0, 0, 1), ("x", "y"), "angle"), mass=1, inertia=(1, 1, 1))
    with pytest.raises(InputError, match="The URDF reader names them x_x, x_y, x_angle"):
        to_urdf(model)


def test_rejects_limits_of_joints_with_several_motions():
    model = Model("puck").coordinates("p_x", "p_y", "p_angle")
    model.body("puck", joint=model.planar((0, 0, 1), ("p_x", "p_y"), "p_angle"), mass=1, inertia=(1, 1, 1))
    model.limit("p_y", lower=0, upper=1)
    with pytest.raises(InputError, match="limit of 'p_y': URDF has no limits for joints with several motions"):
        to_urdf(model)


def test_rejects_energy_models_and_invalid_models():
    energies = Model.from_energies("oscillator", coordinates=["x"], kinetic="dot(x)**2/2")
    with pytest.raises(InputError, match="defined by energies"):
        to_urdf(energies)
    with pytest.raises(ModelError, match="its parent 'nobody' does not exist"):
        to_urdf(pendulum().body("lost", parent="nobody", joint=Model("m").fixed(), mass=1))
