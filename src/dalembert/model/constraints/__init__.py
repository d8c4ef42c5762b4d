"""The family of constraints: one file each, which states all facts of its constraint.

A new constraint is a file here and a line in `CONSTRAINTS`.
"""

from dalembert.model.constraints.base import Constraint as Constraint
from dalembert.model.constraints.base import FormulaConstraint as FormulaConstraint
from dalembert.model.constraints.canonical import Canonical as Canonical
from dalembert.model.constraints.holonomic import Holonomic as Holonomic
from dalembert.model.constraints.loop import Loop as Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic as Nonholonomic

# those given by formulas, in the order in which a file is read
CONSTRAINTS: tuple[type[FormulaConstraint], ...] = (Holonomic, Nonholonomic, Canonical)
