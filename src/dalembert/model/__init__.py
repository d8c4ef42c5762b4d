"""The description of a mechanical system."""

from dalembert.model.description import Description as Description
from dalembert.model.description import Elements as Elements
from dalembert.model.elements import WORLD as WORLD
from dalembert.model.elements import Body as Body
from dalembert.model.elements import Coordinate as Coordinate
from dalembert.model.elements import Parameter as Parameter
from dalembert.model.model import Model as Model
