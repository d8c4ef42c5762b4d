"""Problems that `check` reports, and their messages."""

import pytest

from dalembert.errors import ModelError
from dalembert.model.model import Model


def messages(model: Model) -> list[str]:
    return [str(problem) for problem in model.check()]


def cart() -> Model:
    """A valid model of a cart of 2 kg with the coordinate x."""
    model = Model("cart").parameters(m=2.0, l=0.5, zero=0.0).coordinate("x", 1.0, 0.5)
    return model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass="m")


def plane() -> Model:
    """A point in the plane, for constraints."""
    model = Model("plane").parameters(l=1.0).coordinate("x", 0.6).coordinate("y", 0.8)
    joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    return model.body("point", joint=joints, mass=1)


def analytic(kinetic: str = "dot(x)**2/2", **others) -> Model:
    return Model.from_energies("analytic", coordinates=["x"], kinetic=kinetic, **others)


def test_sound_models_have_no_problems():
    assert messages(cart()) == messages(plane()) == messages(analytic()) == []


def test_an_empty_model():
    assert messages(Model("empty")) == [
        "model 'empty': it is empty: there are no coordinates. Declare at least one coordinate and a body that moves with it.",
        "model 'empty': it has neither bodies nor energies. Add a body, or define the system by energies.",
    ]


def test_bodies_and_energies():
    assert messages(cart().set_energies("m*dot(x)**2/2")) == [
        "model 'cart': it has 1 bodies and also energies. Expected one of the two; remove the bodies or the energies."
    ]


def test_an_unknown_parent():
    model = cart()
    model.body("bob", parent="crat", joint=model.fixed(), mass=1)
    assert messages(model) == ["body 'bob': its parent 'crat' does not exist. Did you mean 'cart'?"]


def test_cycles_of_bodies_are_reported_once():
    model = cart()
    for name, parent in (("a", "c"), ("b", "a"), ("c", "b"), ("d", "a"), ("self", "self")):
        model.body(name, parent=parent, joint=model.fixed(), mass=1)
    advice = "Expected every body to be connected to the world; give one of them the parent 'world'."
    assert messages(model) == [
        f"body 'a': the parents form a cycle: a on c on b on a. {advice}",
        f"body 'self': the parents form a cycle: self on self. {advice}",
    ]


def test_an_unused_coordinate():
    model = cart().coordinates("y").holonomic("x - 1 - y*t")
    assert messages(model)[:1] == ["coordinate 'y': it appears in no joint. Use it in a joint, or remove it."]


def test_names_of_constraints_are_unique():
    model = plane().holonomic("x - 0.6", name="wall").nonholonomic("dot(x)", name="wall")
    assert messages(model) == ["constraint 'wall': the name is used 2 times. Give each constraint a unique name."]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.force("crat", (0, 0, 0)), "force 'force1', body: there is no body 'crat'. Did you mean 'cart'?"),
        (
            lambda m: m.force("world", (0, 0, 0)),
            "force 'force1', body: it acts on the world, which is fixed. Expected a body. Known names: cart.",
        ),
        (
            lambda m: m.force("cart", (0, 0, 0), frame="wold"),
            "force 'force1', frame: there is no body 'wold'. Did you mean 'world'?",
        ),
        (
            lambda m: m.torque("cart", (0, 0, 0), reaction="cat"),
            "torque 'torque1', reaction: there is no body 'cat'. Did you mean 'cart'?",
        ),
        (
            lambda m: m.torque("cart", (0, 0, 0), frame="cat"),
            "torque 'torque1', frame: there is no body 'cat'. Did you mean 'cart'?",
        ),
        (
            lambda m: m.joint_torque("cat", 1),
            "joint_torque 'joint_torque1', body: there is no body 'cat'. Did you mean 'cart'?",
        ),
        (
            lambda m: m.joint_torque("cart", 1, joint=1),
            "joint_torque 'joint_torque1', joint: body 'cart' has no joint 1. "
            "Expected 0 to 0: joints are counted from 0.",
        ),
        (
            lambda m: m.body("plate", parent="cart", joint=m.fixed(), mass=1).joint_torque("plate", 1),
            "joint_torque 'joint_torque1', joint: joint 0 of body 'plate' is fixed and cannot be driven. "
            "Name a joint that moves, or apply a force or torque to the body.",
        ),
        (
            lambda m: m.spring(("cart", "wall"), stiffness=1),
            "spring 'spring1', bodies: there is no body 'wall'. Known names: cart, world.",
        ),
        (
            lambda m: m.damper(("cart", "cart"), damping=1),
            "damper 'damper1': both ends are on 'cart', so it has no effect. Give `bodies` two different names.",
        ),
    ],
)
def test_loads(spoil, message):
    assert messages(spoil(cart())) == [message]


def test_loads_and_gravity_need_bodies():
    model = analytic().force("cart", (0, 0, 0))
    model.gravity_input = (0, -9.81, 0)
    advice = "Add it to the potential energy or the applied forces."
    assert messages(model) == [
        f"force 'force1': it acts on a body, but the system is defined by energies. {advice}",
        f"gravity: it acts on bodies, but the system is defined by energies. {advice}",
    ]


def test_a_negative_mass():
    assert messages(cart().with_parameters(m=-1)) == [
        "body 'cart', mass: the mass is -1. Expected a number >= 0; correct `mass` or the parameters in it."
    ]


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (
            [[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]],
            "the matrix is not symmetric: [0][1] is 0.1 but [1][0] is 0.2. Make both entries equal.",
        ),
        (
            (1, 1, 1, 2, 0, 0),
            "a principal moment is negative; they are -1, 1, 3. "
            "Expected moments >= 0; check signs and the products of inertia.",
        ),
        (
            (1, 1, 3),
            "the principal moments 1, 1, 3 violate the triangle inequality. Expected no moment larger than the sum "
            "of the other two; give the inertia about the mass center.",
        ),
    ],
)
def test_impossible_inertias(inertia, message):
    model = cart()
    model.body("block", parent="cart", joint=model.fixed(), mass=1, inertia=inertia)
    assert messages(model) == [f"body 'block', inertia: {message}"]


def test_thin_bodies_are_possible():
    model = cart()
    for name, inertia in (("rod", ("m/12", 0, "m/12")), ("disc", (0.1, 0.1, 0.2)), ("plate", (0.1, 0.2, 0.1 + 0.2))):
        model.body(name, parent="cart", joint=model.fixed(), mass=1, inertia=inertia)
    assert messages(model) == []


def test_massless_body_without_effect():
    model = cart()
    model.body("frame", parent="cart", joint=model.fixed())  # a frame on a body needs no mass
    assert messages(model) == []
    model.body("ghost", parent="cart", joint=model.prismatic((0, 1, 0), "x"))
    expected = (
        "body 'ghost': it is massless, carries no other body and no load acts on it. Give it a `mass`, or remove it."
    )
    assert messages(model) == [expected]
    assert messages(model.force("ghost", (0, 0, 1))) == []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda m: m.body("a", parent="cart", joint=m.fixed(), mass="1/zero"),
            "body 'a', mass: 'zero**(-1)' has no finite value at the start, where zero = 0.",
        ),
        (
            lambda m: m.body("a", parent="cart", joint=m.fixed(), mass=1, center=(0, "sqrt(-m)", 0)),
            "body 'a', center[1]: 'sqrt(-m)' has no finite value at the start, where m = 2.",
        ),
        (
            lambda m: m.body("a", parent="cart", joint=m.fixed(), mass=1, inertia=("log(zero)", 0, 0)),
            "body 'a', inertia[0][0]: 'log(zero)' has no finite value at the start, where zero = 0.",
        ),
        (
            lambda m: m.body("a", parent="cart", joint=m.revolute((0, 0, 1), "acos(2*x)"), mass=1),
            "body 'a', joint 0 (revolute), angle: 'acos(2*x)' has no finite value at the start, where x = 1.",
        ),
        (
            lambda m: m.body("a", parent="cart", joint=m.fixed(rotation=(0, 0, "1/zero")), mass=1),
            "body 'a', joint 0 (fixed), rotation[2]: 'zero**(-1)' has no finite value at the start, where zero = 0.",
        ),
        (
            lambda m: m.force("cart", (0, "1/t", 0), point=("1/zero", 0, 0)),
            "force 'force1'[1]: 't**(-1)' has no finite value at the start, where t = 0.",
        ),
        (
            lambda m: m.torque("cart", (0, "1/(dot(x) - 0.5)", 0)),
            "torque 'torque1'[1]: '(-1/2 + dot(x))**(-1)' has no finite value at the start, where dot(x) = 0.5.",
        ),
        (
            lambda m: m.joint_torque("cart", "1/zero"),
            "joint_torque 'joint_torque1': 'zero**(-1)' has no finite value at the start, where zero = 0.",
        ),
        (
            lambda m: m.spring(("cart", "world"), stiffness="1/zero", points=((0, 0, 0), ("1/zero", 0, 0))),
            "spring 'spring1', stiffness: 'zero**(-1)' has no finite value at the start, where zero = 0.",
        ),
        (
            lambda m: m.damper(("cart", "world"), damping="exp(1000*m)"),
            "damper 'damper1', damping: 'exp(1000*m)' has no finite value at the start, where m = 2.",
        ),
        (
            lambda m: m.holonomic("x - 1/t"),
            "holonomic 'holonomic1': 'x - t**(-1)' has no finite value at the start, where t = 0, x = 1.",
        ),
        (
            lambda m: m.nonholonomic("dot(x)/zero"),
            "nonholonomic 'nonholonomic1': 'dot(x)/zero' has no finite value at the start, "
            "where dot(x) = 0.5, zero = 0.",
        ),
        (
            lambda m: m.speed("dot(x)/zero"),
            "speed 'u1': 'dot(x)/zero' has no finite value at the start, where dot(x) = 0.5, zero = 0.",
        ),
    ],
)
def test_formulas_without_a_value(spoil, message):
    assert messages(spoil(cart()))[0] == f"{message} Change the formula, the parameters or the initial state."


def test_gravity_without_a_value_or_with_unknown_names():
    model = Model("fall", gravity=(0, "1/g", 0)).parameters(g=0.0).coordinates("y")
    model.body("stone", joint=model.prismatic((0, 1, 0), "y"), mass=1)
    expected = "gravity[1]: 'g**(-1)' has no finite value at the start, where g = 0. Change the formula, the parameters"
    assert messages(model)[0].startswith(expected)
    model = Model("fall", gravity=(0, "-G", 0)).parameters(g=0.0).coordinates("y")
    model.body("stone", joint=model.prismatic((0, 1, 0), "y"), mass=1)
    assert len(messages(model)) == 1
    assert "the name 'G' is not known here" in messages(model)[0]


def test_energies_without_a_value():
    assert [problem.path for problem in analytic("dot(x)**2/x", potential="log(x)", forces=["1/t"]).check()] == [
        "kinetic energy",
        "potential energy",
        "force on 'x'",
    ]


@pytest.mark.parametrize(
    "kinetic", ["dot(x)**3", "dot(x)**2*sin(dot(x))", "sqrt(1 + dot(x)**2)", "abs(dot(x))", "dot(x)**4 - dot(x)**2"]
)
def test_a_kinetic_energy_that_is_not_quadratic(kinetic):
    assert messages(analytic(kinetic)) == [
        "kinetic energy: it is not quadratic in the velocities. "
        "Expected terms with at most two velocities as factors, such as m*dot(x)**2/2."
    ]


@pytest.mark.parametrize("kinetic", ["dot(x)**2*(1 + x**2)", "(dot(x) + t)**2 + dot(x)*x + x", "dot(x)**4/dot(x)**2"])
def test_a_kinetic_energy_that_is_quadratic(kinetic):
    assert messages(analytic(kinetic)) == []


def test_a_coordinate_without_kinetic_energy():
    model = Model.from_energies("two", coordinates=["x", "y"], kinetic="dot(x)**2*(1 + y**2)")
    assert messages(model) == [
        "kinetic energy: the velocity dot(y) does not appear in it. "
        "A massless coordinate needs a constraint that determines it: add a term with dot(y)**2 or such a constraint, or "
        "remove 'y'."
    ]


@pytest.mark.parametrize(
    "speed", ["dot(x)**2", "sin(dot(x))", "sqrt(dot(x)**2 + dot(y)**2)", "abs(dot(y))", "dot(x)*dot(y)"]
)
def test_a_speed_that_is_not_linear(speed):
    assert messages(plane().speed(speed, name="v")) == [
        "speed 'v': it is not linear in the velocities. "
        "Expected a sum of velocities with factors of coordinates and time, such as cos(x)*dot(y)."
    ]


def test_speeds_that_are_linear():
    assert messages(plane().speeds("x**2*dot(x) + sin(y)*dot(y) + t", "(dot(x) + dot(y))**2/(dot(x) + dot(y))")) == []


def test_a_speed_without_velocity():
    assert messages(plane().speed("x + y")) == [
        "speed 'u1': it contains no velocity. Use dot(...) of at least one coordinate."
    ]


def test_too_many_speeds():
    assert messages(plane().speeds("dot(x)", "dot(y)", "dot(x) + dot(y)")) == [
        "speeds: there are 3 speeds for 2 coordinates. Expected one for each degree of freedom; remove some."
    ]


def test_constraints_without_effect():
    model = plane().holonomic("l - t").nonholonomic("x - 0.6").nonholonomic("t*l")
    assert messages(model) == [
        "holonomic 'holonomic1': it contains no coordinate. Remove it, or use the coordinates it constrains.",
        "nonholonomic 'nonholonomic1': it contains no velocity. It constrains positions: declare it as holonomic.",
        "nonholonomic 'nonholonomic2': it contains neither coordinates nor velocities. "
        "Remove it, or use the velocities it constrains.",
    ]


def test_an_initial_state_that_satisfies_the_constraints():
    model = plane().start([0.6, 0.8], [0.8, -0.6])
    model.holonomic("x**2 + y**2 - l**2").nonholonomic("x*dot(x) + y*dot(y)")
    assert messages(model) == []


def test_initial_positions_that_violate_a_constraint():
    model = plane().start([0.6, 0.9], [0, 0]).holonomic("x**2 + y**2 - l**2", name="rod")
    assert messages(model) == [
        "holonomic 'rod': the initial state violates it: φ = 0.17, expected 0 (its terms are of size 2.17). "
        "Change the initial positions; y = 0.8 instead of 0.9 satisfies it."
    ]


def test_initial_rates_that_violate_a_holonomic_constraint():
    model = plane().start([0.6, 0.8], [0.8, 0.6]).holonomic("x**2 + y**2 - l**2", name="rod")
    assert messages(model) == [
        "holonomic 'rod': the initial state violates it: dφ/dt = 1.92, expected 0 (its terms are of size 1.92). "
        "Change the initial rates; dot(y) = -0.6 instead of 0.6 satisfies it."
    ]


def test_initial_rates_have_to_follow_a_moving_constraint():
    assert messages(plane().holonomic("x - 0.6 - 2*t", name="drive")) == [
        "holonomic 'drive': the initial state violates it: dφ/dt = -2, expected 0 (its terms are of size 2). "
        "Change the initial rates; dot(x) = 2 instead of 0 satisfies it."
    ]


def test_initial_rates_that_violate_a_nonholonomic_constraint():
    model = plane().start([0.6, 0.8], [1, 1]).nonholonomic("3*dot(x) - dot(y)", name="blade")
    assert messages(model) == [
        "nonholonomic 'blade': the initial state violates it: ψ = 2, expected 0 (its terms are of size 4). "
        "Change the initial rates; dot(x) = 0.3333333333 instead of 1 satisfies it."
    ]


def test_no_value_is_suggested_without_a_solution():
    model = plane().holonomic("x**2 + 1", name="never")
    assert messages(model) == [
        "holonomic 'never': the initial state violates it: φ = 1.36, expected 0 (its terms are of size 1.36). "
        "Change the initial positions."
    ]
    model = plane().start([0, 0], [0, 0]).holonomic("cos(x)", name="flat")
    assert messages(model)[0].endswith("Change the initial positions.")


def test_powers_of_long_sums_are_not_multiplied_out():
    names = [f"q{i}" for i in range(20)]
    total = "+".join(f"dot({name})" for name in names)
    model = Model("sums").coordinates(*names)
    model.body("a", joint=[model.prismatic((1, 0, 0), name) for name in names], mass=1)
    model.speed(f"({total})**60").nonholonomic(f"({total})**60")
    assert [problem.path for problem in model.check()] == ["speed 'u1'"]


def test_all_problems_are_reported_in_one_error():
    model = cart().with_parameters(m=-1).force("cat", (0, 0, 0)).speed("x")
    with pytest.raises(ModelError) as caught:
        model.require_valid()
    assert len(caught.value.problems) == 3
    assert str(caught.value).startswith("model 'cart' has 3 problems:\n  - body 'cart', mass: the mass is -1.")


# loops, quaternions, simulation settings


def four_bar(q2=-1.0471975511965976, rate=0.0) -> Model:
    third = 1.0471975511965976
    model = Model("four-bar").coordinate("q1", third, rate).coordinate("q2", q2).coordinate("q3", third, rate)
    model.body("crank", joint=model.revolute((0, 0, 1), "q1"), mass=1, inertia=(1, 1, 1))
    coupler = model.revolute((0, 0, 1), "q2", position=(1, 0, 0))
    model.body("coupler", parent="crank", joint=coupler, mass=1, inertia=(1, 1, 1))
    model.body("rocker", joint=model.revolute((0, 0, 1), "q3", position=(2, 0, 0)), mass=1, inertia=(1, 1, 1))
    pin = model.revolute((0, 0, 1), 0, position=(2, 0, 0))
    return model.loop("pin", ("coupler", "rocker"), pin, position=(1, 0, 0))


def test_a_loop_that_is_not_closed():
    assert messages(four_bar()) == []
    (first,) = messages(four_bar(q2=-1.0))
    assert first.startswith("loop 'pin': it is not closed at the start: x = ")
    assert first.endswith(
        "expected 0. Change the initial positions, or set `assemble = true` in [simulation] "
        "(`dl.assemble_model(model)` in Python)."
    )
    (second,) = messages(four_bar(rate=2.0))
    assert second.startswith("loop 'pin': the initial rates open it: ")
    assert "Change the initial rates" in second


def test_initial_guess_is_not_checked():
    assert messages(four_bar(q2=-1.0).simulation(assemble=True)) == []
    assert messages(plane().holonomic("x**2 + y**2 - 4").simulation(assemble=True)) == []


def test_quaternion_that_is_not_a_unit_quaternion():
    model = Model("stone").coordinate("w", 2.0).coordinates("x", "y", "z")
    model.body("stone", joint=model.spherical(quaternion=("w", "x", "y", "z")), mass=1, inertia=(1, 1, 1))
    assert messages(model) == [
        "body 'stone': its initial quaternion is (2, 0, 0, 0), of norm 2. "
        "Start at (1, 0, 0, 0), or at another unit quaternion (w, x, y, z)."
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"integrator": "rk5"}, "simulation: there is no integrator 'rk5'. Did you mean 'rk45'?"),
        (
            {"integrator": "rk45", "step": 0.1},
            "simulation: step is 0.1, but the integrator rk45 has adaptive steps.",
        ),
        ({"step": 0.1}, "simulation: step is 0.1, but no integrator is set. Set `integrator` to a fixed-step method"),
        ({"integrator": "rk4", "step": -1}, "simulation: step is -1. Expected a positive number of seconds."),
    ],
)
def test_invalid_simulation_settings(given, message):
    (found,) = messages(cart().simulation(**given))
    assert found.startswith(message)


def test_loops_and_rotors_need_bodies():
    model = analytic()
    model.loop("pin", ("world", "b"), model.revolute((0, 0, 1), 0)).rotor("b", 1)
    assert messages(model) == [
        "loop 'pin': it connects bodies, but the system is defined by energies. Write it as a holonomic constraint.",
        "rotor 'rotor1': it rotates with a body, but the system is defined by energies. "
        "Write it as a term of the kinetic energy.",
    ]


def test_shapes_of_bodies_that_do_not_exist():
    assert messages(cart().shape("card", "sphere", [1])) == [
        "shape of 'card': there is no such body. Did you mean 'cart'?"
    ]


def test_a_loop_on_a_quaternion_of_length_zero():
    model = Model("stone").coordinates("w", "x", "y", "z")
    model.body("stone", joint=model.spherical(quaternion=("w", "x", "y", "z")), mass=1, inertia=(1, 1, 1))
    model.loop("pin", ("world", "stone"), model.spherical(angles=(0, 0, 0)), position=(1, 0, 0))
    assert [text.split(":")[0] for text in messages(model)] == ["body 'stone'"]
