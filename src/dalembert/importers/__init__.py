"""Files become models here, and nothing else happens."""

from dalembert.importers.choose import READERS as READERS
from dalembert.importers.choose import loads as loads
from dalembert.importers.choose import read as read
from dalembert.importers.toml import loads_toml as loads_toml
from dalembert.importers.toml import read_toml as read_toml
from dalembert.importers.urdf import loads_urdf as loads_urdf
from dalembert.importers.urdf import read_urdf as read_urdf
