"""Recursive dynamics of papers/denoc over any algebra: what evidence compares the formulations with."""

from dalembert.recursive.composite_inertia import mass_matrix as mass_matrix
from dalembert.recursive.inverse import inverse_dynamics as inverse_dynamics
from dalembert.recursive.link_states import moving as moving
from dalembert.recursive.tree import tree_of as tree_of
