"""The command line: one small file per command; the commands call the pipeline and print what it gives."""

from dalembert.cli.entry_point import main as main
