"""A file that was dropped on the page: read piece by piece into the folder of the studio, and no further than its bound."""

from __future__ import annotations

import asyncio
import re

from starlette.requests import ClientDisconnect, Request

from dalembert.errors import InputError, WorkError
from dalembert.io.files import complete
from dalembert.studio.folder import MAX_UPLOAD, Folder

MAX_SECONDS = 60.0  # for one file


async def received(request: Request, folder: Folder, room: asyncio.Semaphore) -> str:
    """The key of the file in the body of a request."""
    announced = request.headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]{1,18}", announced) or int(announced) > MAX_UPLOAD:
        raise _too_large(announced)
    name = request.query_params.get("name", "")
    async with room:
        key, path = await asyncio.to_thread(folder.new_upload, name)
        try:
            with complete(path) as part, part.open("wb") as file:
                async with asyncio.timeout(MAX_SECONDS):
                    async for piece in request.stream():
                        if file.tell() + len(piece) > MAX_UPLOAD:
                            raise _too_large(f"more than {MAX_UPLOAD}")
                        await asyncio.to_thread(file.write, piece)
        except TimeoutError:
            raise WorkError(f"upload: the file did not come within {MAX_SECONDS:g} s. Try again.") from None
        except ClientDisconnect:
            raise WorkError("upload: the file was not sent to its end. Try again.") from None
    return key


def _too_large(got: str) -> InputError:
    return InputError(f"upload: the file has {got[:20]} bytes. Expected at most {MAX_UPLOAD}.")
