"""Files become models here, and nothing else happens."""

from dalembert.importers.toml import loads_toml as loads_toml
from dalembert.importers.toml import read_toml as read_toml
