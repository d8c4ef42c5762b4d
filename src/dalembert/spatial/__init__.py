"""Rotations and cross products over any algebra, in Drake's monogram notation."""

from dalembert.spatial.rotations import about_axis as about_axis
from dalembert.spatial.rotations import angle_about as angle_about
from dalembert.spatial.rotations import cross as cross
from dalembert.spatial.rotations import perpendicular as perpendicular
from dalembert.spatial.rotations import roll_pitch_yaw as roll_pitch_yaw
from dalembert.spatial.rotations import sine_and_cosine as sine_and_cosine
from dalembert.spatial.rotations import skew as skew
