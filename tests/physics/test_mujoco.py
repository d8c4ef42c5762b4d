"""Compliant contact against MuJoCo, which gets the same law as applied forces in every stage of its integrator."""

import numpy as np
import pytest

import dalembert as dl

mujoco = pytest.importorskip("mujoco")
# without a jump at the touch, over which fixed steps would go with an error that falls with the step only
K, D, MU, B, RADIUS = 2e4, 0.5, 0.3, 40.0, 0.1

BALL = """<mujoco><option gravity="0 0 -9.81" integrator="RK4" timestep="{step}"><flag contact="disable"/></option>
<worldbody><body>
<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
<joint type="hinge" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/><joint type="hinge" axis="1 0 0"/>
<inertial pos="0 0 0" mass="0.5" diaginertia="{inertia}"/></body></worldbody></mujoco>"""


def theirs(q, qd, inertia, points, duration, step):
    """The coordinates at the end; `points` are the middles of spheres on the body."""
    model = mujoco.MjModel.from_xml_string(BALL.format(step=step, inertia=" ".join(map(str, inertia))))
    data = mujoco.MjData(model)

    def push(_, now):
        R, origin = now.xmat[1].reshape(3, 3), now.xpos[1]
        turn, center = now.cvel[1, :3], now.subtree_com[1]
        force = np.zeros(6)
        for point in points:
            place = origin + R @ point - [0, 0, RADIUS]
            if place[2] >= 0:
                continue
            v = now.cvel[1, 3:] + np.cross(turn, place - center)
            press = max(-K * place[2] * (1 - D * v[2]), 0.0)
            slip = np.hypot(v[0], v[1])
            drag = B if B * slip <= MU * press else MU * press / slip
            f = np.array([-drag * v[0], -drag * v[1], press])
            force += np.concatenate([f, np.cross(place - now.xipos[1], f)])
        now.xfrc_applied[1] = force

    data.qpos[:], data.qvel[:] = q, qd
    mujoco.set_mjcb_control(push)
    try:
        mujoco.mj_step(model, data, round(duration / step))
    finally:
        mujoco.set_mjcb_control(None)
    return data.qpos.copy()


def ours(q, qd, inertia, points, duration):
    model = dl.Model("body", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "a", "b", "c")
    model.body("body", joint=model.free(("x", "y", "z"), ("a", "b", "c"), "zyx"), mass=0.5, inertia=inertia)
    for point in points:
        model.sphere_on_plane("body", radius=RADIUS, center=point, stiffness=K, dissipation=D, friction=MU, viscous=B)
    run = dl.simulate(model, duration, q0=q, qd0=qd, samples=2)
    assert run.energy_error < 1e-11
    assert len(run.switchings) > 3
    return run.q[:, -1]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("inertia", "points", "turned"),
    [((0.002,) * 3, [(0.0, 0.0, 0.0)], 0.0), ((0.0005, 0.02, 0.02), [(-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)], 0.2)],
    ids=["sphere", "rod"],
)
def test_the_same_law_gives_the_same_motion(inertia, points, turned):
    q, qd = [0, 0, 0.2, 0.3, turned, 0], [1.0, 0.4, 0, 0.5, 0.2, 3.0]
    known = ours(q, qd, inertia, points, 0.3)
    np.testing.assert_allclose(theirs(q, qd, inertia, points, 0.3, 2e-5), known, atol=1e-6)
