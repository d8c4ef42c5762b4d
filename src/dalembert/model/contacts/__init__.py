"""Contacts and couplings, one file for each kind.

To add one, add a file here and a line in `CONTACTS`.
"""

from dalembert.model.contacts.base import Contact
from dalembert.model.contacts.belt import Belt
from dalembert.model.contacts.coupling import Coupling
from dalembert.model.contacts.distance import Distance
from dalembert.model.contacts.gear import Gear
from dalembert.model.contacts.knife_edge import KnifeEdge
from dalembert.model.contacts.point_in_plane import PointInPlane
from dalembert.model.contacts.point_on_line import PointOnLine
from dalembert.model.contacts.point_on_surface import PointOnCurve, PointOnSurface
from dalembert.model.contacts.rack_and_pinion import RackAndPinion
from dalembert.model.contacts.rolling_ball import RollingBall
from dalembert.model.contacts.rolling_disk import RollingDisk
from dalembert.model.contacts.rolling_ellipsoid import RollingEllipsoid
from dalembert.model.contacts.worm import Worm

# in the order in which a file is read
CONTACTS: tuple[type[Contact], ...] = (
    KnifeEdge,
    RollingDisk,
    RollingBall,
    RollingEllipsoid,
    Coupling,
    Gear,
    Belt,
    RackAndPinion,
    Worm,
    Distance,
    PointOnLine,
    PointInPlane,
    PointOnSurface,
    PointOnCurve,
)
