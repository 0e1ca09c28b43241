"""Files that outlive the request they came in: the port to where the gateway keeps them, and the two ways to use it.

A `File` part that is `stored` names bytes kept under an id of the gateway's own, so that rows stay small and no address
of a channel, which may hold a secret, travels on. The id is the digest of the bytes: the same file is kept once, a
second try comes to the same id, and what was changed on the disk is not taken for it. Nobody who writes to the gateway
can name one, since no reader of what others wrote makes a part `stored`.

What is sent in reads it by `filled`, just before its agent gets it; what goes out is kept by `keep_files`, before the
pieces that name it are committed.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from core.delivery import Piece
from core.errors import FileRefused
from core.parts import File, Part
from core.telemetry import Telemetry


class Files(Protocol):
    @property
    def limit(self) -> int:
        """Bytes of one file at most."""
        ...

    async def keep(self, content: bytes) -> str:
        """The id of these bytes, durable when this returns; their time begins anew with each call.

        Raises FileRefused: too large, no room, or the disk would not have it.
        """
        ...

    async def read(self, id: str) -> bytes | None:
        """None when there is no such file (any more)."""
        ...


class NoFiles:
    """For hosts that keep none."""

    limit = 0

    async def keep(self, content: bytes) -> str:
        del content
        raise FileRefused("this gateway keeps no files")

    async def read(self, id: str) -> bytes | None:
        del id
        return None


NO_FILES = NoFiles()


def id_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def filled(files: Files, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with the bytes of the stored ones; of a file that is gone only its name is left."""
    if not any(isinstance(part, File) and part.stored for part in parts):
        return parts
    return tuple([await _filled(files, part) for part in parts])


async def _filled(files: Files, part: Part) -> Part:
    if not isinstance(part, File) or not part.stored:
        return part
    return replace(part, content=await files.read(part.stored), stored="")


async def keep_files(files: Files, pieces: Iterable[Piece], telemetry: Telemetry) -> None:
    """Keep the bytes in the pieces. One that cannot be kept is told of, and shown by its name then."""
    for piece in pieces:
        for part in piece.parts:
            if isinstance(part, File) and part.content:
                try:
                    await files.keep(part.content)
                except FileRefused as error:
                    telemetry.event("file.refused", level="warning", bytes=len(part.content), error=str(error))
