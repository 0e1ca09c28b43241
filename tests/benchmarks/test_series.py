import json

from benchmarks.series import Numbering, Series


def test_series_of_one_numbering_share_no_number_and_no_chat() -> None:
    numbering = Numbering()
    one, other = Series.fresh(numbering, "one", 10, 20), Series.fresh(numbering, "other", 30, 5)
    numbers = [{series.number(index) for index in range(series.total)} for series in (one, other)]
    chats = [{series.chat(index) for index in range(series.total)} for series in (one, other)]
    assert numbers[0].isdisjoint(numbers[1])
    assert chats[0].isdisjoint(chats[1])


def test_a_message_carries_its_number_its_chat_and_its_marker() -> None:
    series = Series("run", 1_000_000_000, 10, 3)
    update = json.loads(series.fill(series.template(), 4))
    assert (update["update_id"], update["message"]["chat"]["id"]) == (1_000_000_004, 1_000_000_001)
    assert update["message"]["from"]["id"] == update["message"]["chat"]["id"]
    assert update["message"]["text"].startswith(f"{series.marker(4)} ")


def test_all_bodies_of_a_series_are_equally_long_and_about_a_kilobyte() -> None:
    series = Series.fresh(Numbering(), "run", 500, 7)
    lengths = {len(series.fill(series.template(), index)) for index in range(500)}
    assert lengths == {1000}


def test_numbers_have_ten_digits_whatever_the_clock_says() -> None:
    assert len(str(Numbering().take(1))) == 10
