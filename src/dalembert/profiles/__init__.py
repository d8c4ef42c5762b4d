"""Motions in time that are designed: from rest to rest, through points, and sampled; each is formulas of time."""

from dalembert.profiles.laws import cycloidal, quintic, trapezoidal
from dalembert.profiles.profile import Moment, Profile
from dalembert.profiles.splines import sampled, spline

__all__ = ["Moment", "Profile", "cycloidal", "quintic", "sampled", "spline", "trapezoidal"]
