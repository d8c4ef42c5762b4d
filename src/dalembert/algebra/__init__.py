"""The scalars a derivation runs over, and linear algebra on object arrays of them."""

from dalembert.algebra.base import Algebra as Algebra
from dalembert.algebra.base import Array as Array
from dalembert.algebra.base import DifferentialAlgebra as DifferentialAlgebra
from dalembert.algebra.base import Scalar as Scalar
from dalembert.algebra.base import identity as identity
from dalembert.algebra.base import matrix as matrix
from dalembert.algebra.base import scaled as scaled
from dalembert.algebra.base import stack as stack
from dalembert.algebra.base import vector as vector
from dalembert.algebra.base import zeros as zeros
from dalembert.algebra.catalogue import choose as choose
from dalembert.algebra.floats import FLOATS as FLOATS
from dalembert.algebra.floats import numbers as numbers
from dalembert.algebra.floats import plain as plain
