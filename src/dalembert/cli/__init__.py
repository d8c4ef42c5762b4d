# PYTHON_ARGCOMPLETE_OK: argcomplete looks for this mark before it calls the program
"""Command-line interface: one module per command. The commands call the library and print its results."""

from dalembert.cli.entry_point import main as main
