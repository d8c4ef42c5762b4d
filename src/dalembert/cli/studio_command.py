"""`dalembert studio`: start the web application."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from dalembert.errors import EngineError, InputError


def run(arguments: Namespace) -> int:
    """Run the server until it is interrupted."""
    missing = [name for name in ("starlette", "uvicorn", "websockets", "tomlkit") if find_spec(name) is None]
    if missing:
        raise EngineError(
            f"the studio requires {', '.join(missing)}, which is not installed. Run: pip install 'dalembert[studio]'."
        )
    for name, least in {"workers": 1, "memory": 0.5, "timeout": 1}.items():
        if not getattr(arguments, name) >= least:
            raise InputError(f"--{name}: got {getattr(arguments, name)}. Expected at least {least}.")
    if not 0 <= arguments.port < 65536:
        raise InputError(f"--port: got {arguments.port}. Expected an int from 0 to 65535; 0 selects any free port.")
    from dalembert.studio.app import Options
    from dalembert.studio.server import serve

    options = Options(arguments.workers, arguments.timeout, memory=int(arguments.memory * 2**30))
    serve(
        Path.cwd(),
        arguments.model,
        options,
        host=arguments.host,
        port=arguments.port,
        browser=not arguments.no_browser,
        as_json=arguments.json,
    )
    return 0
