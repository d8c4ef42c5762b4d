"""The family of contacts and couplings: one file each, which states all facts of its member.

A new one is a file here and a line in `CONTACTS`.
"""

from dalembert.model.contacts.base import BetweenPoints as BetweenPoints
from dalembert.model.contacts.base import Contact as Contact
from dalembert.model.contacts.base import Held as Held
from dalembert.model.contacts.base import Push as Push
from dalembert.model.contacts.base import pushed as pushed
from dalembert.model.contacts.belt import Belt as Belt
from dalembert.model.contacts.coupling import Coupling as Coupling
from dalembert.model.contacts.distance import Distance as Distance
from dalembert.model.contacts.gear import Gear as Gear
from dalembert.model.contacts.knife_edge import KnifeEdge as KnifeEdge
from dalembert.model.contacts.point_in_plane import PointInPlane as PointInPlane
from dalembert.model.contacts.point_on_line import PointOnLine as PointOnLine
from dalembert.model.contacts.point_on_surface import OnSurfaces as OnSurfaces
from dalembert.model.contacts.point_on_surface import PointOnCurve as PointOnCurve
from dalembert.model.contacts.point_on_surface import PointOnSurface as PointOnSurface
from dalembert.model.contacts.rack_and_pinion import RackAndPinion as RackAndPinion
from dalembert.model.contacts.rolling import Rolling as Rolling
from dalembert.model.contacts.rolling_ball import RollingBall as RollingBall
from dalembert.model.contacts.rolling_disk import RollingDisk as RollingDisk
from dalembert.model.contacts.rolling_ellipsoid import RollingEllipsoid as RollingEllipsoid
from dalembert.model.contacts.worm import Worm as Worm

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
