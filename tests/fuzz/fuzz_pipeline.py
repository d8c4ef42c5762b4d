"""Random formulas through derivation, printing, evaluation and integration; the same number always gives the same formula."""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable

import fuzz_cases
import numpy as np

import dalembert as dl
from dalembert.errors import DalembertError

HARD = (
    *("9" * 30, "9" * 60, "(" + "9" * 30 + "*1)**x", "(" + "9" * 30 + ")**0.5", "(-" + "9" * 9 + ")**x", "1e308*x", "1e-308"),
    *("x**64", "x**(-64)", "2**x", "x**y", "(x*y)**k", "10**64", "0.1**30", "(1 + x)**(y - 0.3)", "20011**(1/2)", "20011**x"),
    *("asin(2 + x)", "acos(3*k)", "log(-x - 1)", "sqrt(x - 5)", "1/(x - x*1)", "1/x", "atan2(0*x, 0*y)", "exp(800*x)"),
    *("exp(exp(9*k))", "tan(pi/2 + 0*x)", "abs(abs(abs(x)))", "sign(x)*0", "max(x, y, k)", "exp(1)**x", "log(exp(x))"),
    *("piecewise(1/x, x > 0, log(x))", "sin(" * 30 + "x" + ")" * 30, "sqrt(" * 12 + "x + 2" + ")" * 12, "x/(9" + "9" * 90 + ")"),
)  # fmt: skip


def formula(number: int) -> str:
    """A formula with huge numbers, huge powers, values outside of domains, and nesting."""
    r = random.Random(1_000_000 + number)
    part = fuzz_cases._expression(r, r.randrange(1, 4))
    hard = r.choice(HARD)
    return r.choice(
        ("{b}", "asin({b})", "{a} + {b}", "({b})*dot(x)", "sin({b})*({a})", "({a})/({b})", "({b})**({a})")
    ).format(a=part, b=hard)


def _plane() -> dl.Model:
    model = dl.Model("fuzz").parameters(k=2.0).coordinates("x", "y")
    model.body("b", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1.5)
    return model.start({"x": 0.7, "y": -0.3}, {"x": 0.4, "y": 0.0})


def _force(text: str) -> dl.Model:
    return _plane().force("b", [text, 0, 0])


def _nonholonomic(text: str) -> dl.Model:
    return _plane().nonholonomic(f"dot(y) - 0.1*({text})")


def _event(text: str) -> dl.Model:
    return _plane().event("crossing", when=text)


def _speed(text: str) -> dl.Model:
    return _plane().speeds(f"dot(x) + ({text})")


ELEMENTS: dict[str, Callable[[str], dl.Model]] = {
    "force": _force,
    "nonholonomic": _nonholonomic,
    "event": _event,
    "speed": _speed,
}


def _use(model: dl.Model, formalism: str) -> None:
    """Run every public operation on equations."""
    model.check()
    eom = dl.derive(model, formalism)
    str(eom)
    eom.latex()
    eom.accelerations([0.7, -0.3], [0.4, 0.0])
    for integrator in ("dop853", "taylor"):
        eom.simulate(0.05, samples=3, integrator=integrator)


def foreign_exception(number: int) -> str | None:
    """The traceback of an exception from outside the package, or None."""
    text, names = formula(number), list(ELEMENTS)
    element = names[number % len(names)]
    formalism = ("lagrange", "hamilton", "kane", "volterra")[number // len(names) % 4]
    try:
        with np.errstate(all="ignore"):
            _use(ELEMENTS[element](text), formalism)
    except DalembertError as error:
        str(error)
    except Exception:
        return f"case {number}: {element} '{text}' by {formalism}\n{traceback.format_exc(limit=-4)}"
    return None


def main() -> None:
    """Print the tracebacks of the cases named on the command line: FIRST COUNT."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        begin = time.process_time()
        if (found := foreign_exception(number)) is not None:
            print(found)
        if (used := time.process_time() - begin) > 5:
            print(f"case {number} took {used:.1f} s: {formula(number)}")
    print(f"{count} cases, {time.process_time():.1f} s")


if __name__ == "__main__":
    main()
