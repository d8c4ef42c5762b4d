"""Models become files here: our own format, and that of other programs."""

from dalembert.exporters.toml import to_toml as to_toml
from dalembert.exporters.toml import write_toml as write_toml
from dalembert.exporters.urdf import to_urdf as to_urdf
from dalembert.exporters.urdf import write_urdf as write_urdf
