"""Equations become code: one walk through a program, one table of words for each language."""

from dalembert.exporters.code.source import CodeFunction as CodeFunction
from dalembert.exporters.code.source import Source as Source
from dalembert.exporters.code.targets import TARGETS as TARGETS
from dalembert.exporters.code.targets import Target as Target
