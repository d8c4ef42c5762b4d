"""`dalembert studio`: start the web application."""

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
    parser.add_argument("model", metavar="MODEL", nargs="?", default="", help="gallery name or model file to open")
    parser.add_argument("--port", type=int, default=0, help="port of the server (default: any free port)")
    text = "address to listen on (default: %(default)s, this machine only; otherwise anyone with the token can connect)"
    parser.add_argument("--host", default="127.0.0.1", help=text)
    parser.add_argument("--no-browser", action="store_true", help="print the URL without opening a browser")
    parser.add_argument(
        "--workers", type=int, default=3, metavar="N", help="concurrent long tasks (default: %(default)s)"
    )
    parser.add_argument(
        "--memory", type=float, default=4.0, metavar="GB", help="memory limit of each worker (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=3600.0, metavar="S", help="time limit of each task (default: %(default)g)"
    )


def run(arguments: Namespace) -> int:
    """Run the server until it is interrupted."""
    missing = [name for name in ("starlette", "uvicorn", "websockets", "tomlkit") if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"the studio requires {', '.join(missing)}, which is not installed. Run: pip install 'dalembert[studio]'."
        )
    for name, least in {"workers": 1, "memory": 0.5, "seconds": 1}.items():
        if not getattr(arguments, name) >= least:
            raise InputError(f"--{name}: got {getattr(arguments, name)}. Expected at least {least}.")
    if not 0 <= arguments.port < 65536:
        raise InputError(f"--port: got {arguments.port}. Expected an int from 0 to 65535; 0 selects any free port.")
    from dalembert.studio.app import Options
    from dalembert.studio.server import serve

    options = Options(arguments.workers, arguments.seconds, memory=int(arguments.memory * 2**30))
    serve(
        Path.cwd(), arguments.model, options, host=arguments.host, port=arguments.port, browser=not arguments.no_browser
    )
    return 0
