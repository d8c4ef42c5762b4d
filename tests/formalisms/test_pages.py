"""Every formulation displays the quantities of its paper with printed equation numbers, and all pages are distinct."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import gallery_models
import pytest
from gallery_models import up_to

import dalembert as dl
from dalembert.display.math import plain_text
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.quantities import Derived

MOST = 8  # coordinates
BODIES = "r_G omega V_G Gamma Pi"
# keys in order; those in brackets are optional
KEYS = {
    "lagrange": "T V L p Q M h [phi] [psi] [A] [beta] [L_aug]",
    "dalembert": "M b g tau [Phi] [Phi_dot_qd] [H] [Phi_bar] [Theta] [alpha] [rho]",
    "maggi": "M h W [A] [beta]",
    "kane": "V_partial omega_partial F F_star",
    "gibbs_appell": "S U",
    "boltzmann_hamel": "T_star gamma U",
    "volterra": "W X T P H_G U M A K L",
    "volterra_reduced": "[G_I] [M_prime] [N_prime] Y_NI Z_NI W_NI X_NI M_NI A_NI K_NI U_NI L_NI",
    "routh": "[p_I] [qd_I] R",
    "udwadia_kalaba": "M h qdd_free [A] [beta] [B]",
    "poincare": "G H M_s S [A_s] [b_s] [B_s] [S_ideal] [S_nonideal] [S_c]",
    "gauss": "qdd_free gaussian",
    "phong": "[G] [b] D [r]",
    "nullspace": "W M_p b_p g_p tau_p",
    "hamilton": "T V p qd H [phi] [lambda]",
    "dirac": "T V p qd H [c] H_aug [Lambda]",
    "newton_euler": "M Omega E w_E",
    "denoc": "[B] [A] p N_l N_d N M_tilde I C U D I_inv [modules] [J]",
}
HELD = {  # required for constrained models
    "lagrange": "A beta",
    "dalembert": "Phi Phi_dot_qd H Phi_bar Theta alpha rho",
    "maggi": "A beta",
    "udwadia_kalaba": "A beta B",
    "poincare": "A_s b_s B_s S_ideal S_c",
    "phong": "G b r",
    "hamilton": "lambda",
    "dirac": "c Lambda",
}
# all numbers that each paper prints beside an equation; (36) also for (36a) and (36b)
PRINTED = {
    "volterra": {str(k) for k in range(1, 81)},
    "poincare": {f"2.{k}" for k in range(1, 17)} | {f"3.{k}" for k in range(1, 50)},
    "phong": {"2.1a", "2.1b"} | {f"2.{k}" for k in range(1, 11)} | {f"3.{k}" for k in range(1, 17)},
    "denoc": {str(k) for k in range(1, 55)} | {f"{k}{x}" for k in (3, 8, 9, 11, 36, 41, 46, 47, 52, 54) for x in "ab"},
    "desapio": {f"5.{k}" for k in range(1, 307) if k != 111},
}
NO_NUMBER = r"refs?\. \[[\d, ]+\]|Step [12]|Definition 1|Table 1"


SOME = ("simple-pendulum", "slider-crank-2", "cart-pendulum")
some_and_all = pytest.mark.parametrize(
    "model", [pytest.param(name, marks=() if name in SOME else pytest.mark.nightly) for name in up_to(MOST)]
)


def equations(model: str, key: str) -> dl.Equations | None:
    """Equations, or None with the reason if the formulation does not support the model."""
    try:
        return gallery_models.equations(model, key)
    except dl.NotApplicableError:
        return None


def recorded(model: str, key: str) -> Derived | None:
    """All quantities and laws, not yet computed."""
    found = equations(model, key)
    return None if found is None else found.derivation.derived


def all_recorded(model: str) -> Iterator[tuple[str, Derived]]:
    """Quantities and laws of every formulation that supports the model."""
    for key in KEYS:
        if (record := recorded(model, key)) is not None:
            yield key, record


def test_table_contains_every_formalism() -> None:
    assert set(KEYS) == set(catalog.KEYS)


@some_and_all
def test_blocks_have_the_keys_of_the_table_in_its_order(model: str) -> None:
    for key, record in all_recorded(model):
        found = list(record.quantities)
        words = KEYS[key].split()
        order = [word.strip("[]") for word in words]
        assert [k for k in found if k in order] == [k for k in order if k in found], key
        assert not {word for word in words if not word.startswith("[")} - set(found), key
        constraints = equations(model, "lagrange").constraint_names  # pyright: ignore[reportOptionalMemberAccess]
        plain = {word.removesuffix("_prime") for word in found}  # stabilized constraints: Φ̇q̇′ of (5.97)
        assert not constraints or not set(HELD.get(key, "").split()) - plain, key
        assert record.laws, key


@some_and_all
def test_numbers_of_equations_are_printed_in_the_paper(model: str) -> None:
    for key, record in all_recorded(model):
        source = catalog.find(key).ABOUT.source
        own = re.match(r"papers/(\w+)", source)
        assert own is not None, source
        for item in (*record.quantities.values(), *record.laws):
            paper, _, number = item.equation.rpartition(" ") if "(" in item.equation else ("", "", item.equation)
            if "(" not in number:
                assert re.fullmatch(NO_NUMBER, number), (key, item.equation)
                continue
            assert number.strip("()") in PRINTED[paper or own[1]], (key, item.equation)


@some_and_all
def test_formalisms_have_distinct_quantities(model: str) -> None:
    content = {}
    for key, record in all_recorded(model):
        own = tuple(k for k in record.quantities if k not in BODIES.split())
        content[key] = own, tuple(law.formula for law in record.laws)
    for one, other in combinations(content, 2):
        assert content[one] != content[other], (one, other)


def body(model: str, key: str) -> str:
    """The page without its title."""
    found = equations(model, key)
    assert found is not None
    return plain_text.page(found._display.page, 100).split("\n", 2)[2]


@pytest.mark.slow(9)  # slider-crank-2
@pytest.mark.parametrize("model", up_to(MOST))
def test_pages_are_distinct(model: str) -> None:
    pages = {key: body(model, key) for key in KEYS if equations(model, key) is not None}
    assert len(pages) > 10
    for one, other in combinations(pages, 2):
        assert pages[one] != pages[other], (one, other)
