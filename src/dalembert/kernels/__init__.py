"""From equations to compiled functions of numbers."""

from dalembert.kernels.compile import Function as Function
from dalembert.kernels.compile import compile_function as compile_function
from dalembert.kernels.kernel import Kernel as Kernel
from dalembert.kernels.lengths import Lengths as Lengths
from dalembert.kernels.manifold import Manifold as Manifold
