"""From equations to compiled functions of numbers."""

from dalembert.kernels.kernel import Kernel as Kernel
from dalembert.kernels.lengths import Lengths as Lengths
from dalembert.kernels.manifold import Manifold as Manifold
