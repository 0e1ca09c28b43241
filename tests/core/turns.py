"""What of a line's turns shows in its store only."""

from core.store import Store


async def is_waiting(store: Store) -> bool:
    """Some turn is past the foreground's patience."""
    return any(turn.waiting for turn in await store.unfinished())


async def has_task(store: Store) -> bool:
    """Some turn knows its task."""
    return any(turn.task for turn in await store.unfinished())
