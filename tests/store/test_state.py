"""Conformance: leases with fencing, and what plugins remember, by compare-and-set."""

import asyncio
from pathlib import Path

import pytest

from gateway.store.sqlite import SqliteStore
from tests.store.line import Line


async def test_a_value_never_written_is_none_and_its_version_is_zero(line: Line) -> None:
    assert await line.store.read("desk", "token") is None
    assert not await line.store.write("desk", "token", "a", version=1)
    assert await line.store.write("desk", "token", "a", version=0)
    assert await line.store.read("desk", "token") == ("a", 1)


async def test_a_value_is_replaced_only_by_who_read_its_present_version(line: Line) -> None:
    await line.store.write("desk", "token", "a", version=0)

    assert await line.store.write("desk", "token", "b", version=1)
    assert not await line.store.write("desk", "token", "c", version=1)
    assert not await line.store.write("desk", "token", "c", version=0)
    assert await line.store.read("desk", "token") == ("b", 2)


async def test_of_concurrent_writers_of_one_version_one_wins(line: Line) -> None:
    writes = [line.store.write("desk", "token", str(n), version=0) for n in range(10)]

    assert sum(await asyncio.gather(*writes)) == 1


async def test_a_value_is_forgotten_only_by_who_read_its_present_version(line: Line) -> None:
    await line.store.write("desk", "token", "a", version=0)
    await line.store.write("desk", "token", "b", version=1)

    assert not await line.store.forget("desk", "token", version=1)
    assert not await line.store.forget("desk", "token", version=0)
    assert await line.store.forget("desk", "token", version=2)
    assert await line.store.read("desk", "token") is None
    assert not await line.store.forget("desk", "token", version=0)
    assert await line.store.write("desk", "token", "c", version=0)


async def test_values_are_by_account_and_name(line: Line) -> None:
    await line.store.write("desk", "token", "a", version=0)

    assert await line.store.read("desk", "other") is None
    assert await line.store.read("other", "token") is None


async def test_a_lease_is_held_by_one_and_renewed_under_the_same_fence(line: Line) -> None:
    assert await line.store.acquire("poll", "me", 30) == 1
    assert await line.store.acquire("poll", "you", 30) is None
    assert await line.store.acquire("poll", "me", 30) == 1


@pytest.mark.case("DEL-05")
async def test_a_lapsed_lease_goes_to_the_next_holder_under_a_higher_fence(line: Line) -> None:
    await line.store.acquire("poll", "me", 30)
    line.clock.time += 31

    assert await line.store.acquire("poll", "you", 30) == 2
    assert await line.store.acquire("poll", "me", 30) is None


async def test_a_released_lease_is_free_at_once_and_its_fence_still_grows(line: Line) -> None:
    await line.store.acquire("poll", "me", 30)
    await line.store.release("poll", "you")
    assert await line.store.acquire("poll", "you", 30) is None

    await line.store.release("poll", "me")
    assert await line.store.acquire("poll", "you", 30) == 2


async def test_leases_of_different_names_are_different(line: Line) -> None:
    await line.store.acquire("poll", "me", 30)

    assert await line.store.acquire("other", "you", 30) == 1


async def test_a_new_holder_of_the_file_does_not_wait_for_the_leases_of_the_last(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as first:
        await first.hold()
        fence = await first.acquire("telegram:7", "first", 3600)
    async with SqliteStore(tmp_path / "desk.db") as second:
        await second.hold()
        assert fence is not None
        assert await second.acquire("telegram:7", "second", 3600) == fence + 1
