"""Facts: what is known of a model before any formalism begins, each with its reason."""

from dalembert.structure import samples as samples
from dalembert.structure.facts import Choice as Choice
from dalembert.structure.facts import Facts as Facts
from dalembert.structure.facts import facts_of as facts_of
from dalembert.structure.system import System as System
from dalembert.structure.system import system_of as system_of
