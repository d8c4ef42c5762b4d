# PYTHON_ARGCOMPLETE_OK
"""`python -m dalembert` is the command line."""

from dalembert.cli.entry_point import main

if __name__ == "__main__":
    raise SystemExit(main())
