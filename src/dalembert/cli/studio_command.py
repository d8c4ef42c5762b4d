"""`dalembert studio`: describe, derive, prove and move a mechanism in the browser."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from dalembert.cli import options as shared
from dalembert.errors import EngineError, InputError


def add(subparsers: shared.Subparsers) -> None:
    """Add the command."""
    examples = "dalembert studio", "dalembert studio four-bar", "dalembert studio robot.toml --port 8080 --no-browser"
    parser = shared.command(subparsers, "studio", *examples)
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default="", help="a gallery name or a model file to begin with"
    )
    parser.add_argument("--port", type=int, default=0, help="the port (default: any that is free)")
    text = "the address to listen at (default: %(default)s, this machine only; another one lets others in who know the token)"
    parser.add_argument("--host", default="127.0.0.1", help=text)
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    parser.add_argument("--workers", type=int, default=3, metavar="N", help="long tasks at once (default: %(default)s)")
    parser.add_argument(
        "--memory", type=float, default=4.0, metavar="GB", help="memory of a worker (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=3600.0, metavar="S", help="longest task (default: %(default)g)"
    )


def run(arguments: Namespace) -> int:
    """Serve until it is interrupted."""
    missing = [name for name in ("starlette", "uvicorn", "websockets", "tomlkit") if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"the studio needs {', '.join(missing)}, not installed here. Run: pip install 'dalembert[studio]'."
        )
    for name, least in {"workers": 1, "memory": 0.5, "seconds": 1}.items():
        if not getattr(arguments, name) >= least:
            raise InputError(f"--{name}: got {getattr(arguments, name)}. Expected at least {least}.")
    if not 0 <= arguments.port < 65536:
        raise InputError(f"--port: got {arguments.port}. Expected a number from 0 to 65535; 0 takes any that is free.")
    from dalembert.studio.app import Options
    from dalembert.studio.server import serve

    options = Options(arguments.workers, arguments.seconds, memory=int(arguments.memory * 2**30))
    serve(
        Path.cwd(), arguments.model, options, host=arguments.host, port=arguments.port, browser=not arguments.no_browser
    )
    return 0
