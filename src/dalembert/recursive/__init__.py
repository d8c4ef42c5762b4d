"""Recursive dynamics of papers/denoc: inverse and forward dynamics and the inertia matrix of a tree, over any algebra."""

from dalembert.recursive.composite_inertia import diagonal as diagonal
from dalembert.recursive.composite_inertia import mass_matrix as mass_matrix
from dalembert.recursive.forward import forward_dynamics as forward_dynamics
from dalembert.recursive.hybrid import hybrid_dynamics as hybrid_dynamics
from dalembert.recursive.inverse import inverse_dynamics as inverse_dynamics
from dalembert.recursive.link_states import Fixture as Fixture
from dalembert.recursive.link_states import Moving as Moving
from dalembert.recursive.link_states import fixtures as fixtures
from dalembert.recursive.link_states import moving as moving
from dalembert.recursive.plan import Plan as Plan
from dalembert.recursive.plan import State as State
from dalembert.recursive.plan import plan_of as plan_of
from dalembert.recursive.plan import read_array as read_array
from dalembert.recursive.plan import read_speed_rates as read_speed_rates
from dalembert.recursive.plan import read_state as read_state
from dalembert.recursive.plan import singular_mass as singular_mass
from dalembert.recursive.tree import Tree as Tree
from dalembert.recursive.tree import tree_of as tree_of
