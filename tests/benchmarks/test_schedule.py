import pytest

from benchmarks.schedule import RECENT, Schedule


def taken(schedule: Schedule, connections: int) -> list[list[int]]:
    """What each connection sends when they take turns."""
    sent: list[list[int]] = [[] for _ in range(connections)]
    busy = set(range(connections))
    while busy:
        for connection in sorted(busy):
            sending = schedule.take(connection)
            if sending is None:
                busy.discard(connection)
            else:
                sent[connection].append(sending.index)
    return sent


def flat(sent: list[list[int]]) -> list[int]:
    return [index for indexes in sent for index in indexes]


def test_every_message_is_sent_once_whichever_connection_takes_it() -> None:
    sent = taken(Schedule(10, connections=3), 3)
    assert sorted(flat(sent)) == list(range(10))


def test_in_order_each_chat_has_one_connection() -> None:
    sent = taken(Schedule(40, connections=2, chats=6, in_order=True), 2)
    chats = [{index % 6 for index in indexes} for indexes in sent]
    assert chats[0].isdisjoint(chats[1])
    assert all(indexes == sorted(indexes) for indexes in sent)
    assert sorted(flat(sent)) == list(range(40))


@pytest.mark.parametrize("more", [{"chats": 5}, {"chats": 4, "duplicates": 0.1}])
def test_an_order_that_cannot_be_kept_is_refused(more: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="in order"):
        Schedule(10, connections=2, in_order=True, **more)  # type: ignore[arg-type]


def test_duplicates_repeat_recent_messages_and_leave_none_out() -> None:
    schedule = Schedule(2000, connections=1, duplicates=0.2)
    sent = flat(taken(schedule, 1))
    assert len(sent) == 2000
    assert set(sent) == set(range(schedule.unique))
    assert 300 < 2000 - schedule.unique < 500
    newest = -1
    for index in sent:
        assert index == newest + 1 or newest - RECENT <= index <= newest
        newest = max(newest, index)


def test_in_an_open_loop_messages_are_due_at_the_rate() -> None:
    schedule = Schedule(3, connections=1, rate=10)
    due = [sending.due for _ in range(3) if (sending := schedule.take(0)) is not None]
    assert due == [0.0, 0.1, 0.2]
