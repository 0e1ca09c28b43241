"""Files in memory, with a bound."""

from core.errors import FileRefused
from core.files import id_of


class MemoryFiles:
    def __init__(self, limit: int = 10 << 20) -> None:
        self.limit = limit
        self.kept: dict[str, bytes] = {}

    async def keep(self, content: bytes) -> str:
        if len(content) > self.limit:
            raise FileRefused(f"a file has {len(content)} bytes, and {self.limit} are taken")
        self.kept[id_of(content)] = content
        return id_of(content)

    async def read(self, id: str) -> bytes | None:
        return self.kept.get(id)
