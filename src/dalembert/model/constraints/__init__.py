"""Constraints, one file for each kind.

To add a constraint, add a file here and a line in `CONSTRAINTS`.
"""

from dalembert.model.constraints.base import Constraint as Constraint
from dalembert.model.constraints.base import FormulaConstraint as FormulaConstraint
from dalembert.model.constraints.canonical import Canonical as Canonical
from dalembert.model.constraints.holonomic import Holonomic as Holonomic
from dalembert.model.constraints.loop import Loop as Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic as Nonholonomic

# constraints defined by formulas, in the order in which a file is read
CONSTRAINTS: tuple[type[FormulaConstraint], ...] = (Holonomic, Nonholonomic, Canonical)
