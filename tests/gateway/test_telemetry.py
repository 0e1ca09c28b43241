"""The log and the numbers: one line for one event, nothing secret in it, and never a wait for its reader."""

import asyncio
import io
import json
import logging
import re
import threading
import warnings
from collections.abc import Iterator

import pytest

from gateway.log_lines import json_line, printable, redactor, safe, text_line, timestamp
from gateway.metrics import MOST_SERIES, Metrics
from gateway.telemetry import Telemetry

BOT_TOKEN = "123456789:AAF1xYk3vT0Lw9QeRrTtYyUuIiOoPpAaSsD"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
NASTY = "a\r\nb\x1b[31m\x7f\x9b\u2028\u202e\ud800c"


class Sink(io.StringIO):
    """What was written stays readable after the telemetry has ended."""

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()

    @property
    def events(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines]


def said(form: str = "json", **fields: object) -> str:
    with Telemetry(sink := Sink(), form=form, clock=lambda: 1_796_041_390.25) as telemetry:
        telemetry.event("turn.finished", **fields)
    return sink.getvalue()


def test_an_event_is_one_json_line_with_its_time_in_utc_and_its_fields() -> None:
    line = json.loads(said(outcome="completed", duration=0.5))
    assert line == {
        "time": "2026-11-30T12:23:10.250Z",
        "level": "info",
        "event": "turn.finished",
        "outcome": "completed",
        "duration": 0.5,
    }


def test_on_a_terminal_an_event_is_a_readable_line() -> None:
    assert said("text", outcome="completed", agent="echo", error="") == (
        "12:23:10.250 turn.finished outcome=completed agent=echo\n"
    )


def test_a_value_with_spaces_is_quoted_in_the_readable_line() -> None:
    assert 'WARNING turn.finished reason="no agent"' in said("text", reason="no agent", level="warning")


@pytest.mark.case("T53")
@pytest.mark.parametrize("form", ["json", "text"])
def test_control_characters_are_escaped_so_that_one_event_is_one_harmless_line(form: str) -> None:
    text = said(form, external_id=NASTY)
    assert text.count("\n") == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)
    assert "\\u001b[31m" in text


@pytest.mark.case("T53")
@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"https://api.telegram.org/bot{BOT_TOKEN}/sendMessage", BOT_TOKEN.partition(":")[2]),
        (f"token {BOT_TOKEN} is wrong", BOT_TOKEN.partition(":")[2]),
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        (f"got {JWT} from the agent", JWT),
        ("https://agent/?access_token=s3cr3t&x=1", "s3cr3t"),
        ("https://agent/?x=1&api_key=s3cr3t", "s3cr3t"),
        ("configured-secret-value in an error", "configured-secret-value"),
    ],
)
def test_what_looks_like_a_secret_or_is_a_configured_one_never_reaches_the_log(
    form: str, text: str, secret: str
) -> None:
    with Telemetry(sink := Sink(), form=form, secrets=["configured-secret-value"]) as telemetry:
        telemetry.event("delivery.attempted", error=text)
    assert secret not in sink.getvalue()
    assert "[redacted]" in sink.getvalue()


def test_secrets_of_a_reread_configuration_are_hidden_too_and_the_old_ones_stay_hidden() -> None:
    with Telemetry(sink := Sink(), form="json", secrets=["the-old-secret"]) as telemetry:
        telemetry.hide(["the-new-secret"])
        telemetry.event("turn.finished", error="the-old-secret the-new-secret")
    assert sink.events[0]["error"] == "[redacted] [redacted]"


def test_ordinary_words_are_not_redacted() -> None:
    ordinary = "monkey=1 2026-11-30T12:23:10 eyJ bear token 0197c0ffee0197c0ffee:part"
    assert redactor(["short"])(ordinary) == ordinary


def test_an_event_below_the_level_is_counted_and_not_written() -> None:
    with Telemetry(sink := Sink(), level="warning", form="json") as telemetry:
        telemetry.event("turn.finished", outcome="completed")
        telemetry.event("turn.finished", outcome="failed", level="error")
    assert [event["outcome"] for event in sink.events] == ["failed"]
    assert 'outcome="completed"} 1.0' in telemetry.metrics.render().decode()


def test_a_value_that_json_has_no_word_for_is_written_as_text() -> None:
    assert json.loads(said(path={1}, big=2**70, nan=float("nan")))["path"] == "{1}"


def test_a_very_long_field_is_cut() -> None:
    line = said(error="x" * 100_000)
    assert len(line) < 5000
    assert json.loads(line)["error"].endswith("x…")


def test_everything_said_is_written_when_the_telemetry_ends() -> None:
    with Telemetry(sink := Sink(), form="json") as telemetry:
        for number in range(5000):
            telemetry.event("tick", number=number)
    assert [event["number"] for event in sink.events] == list(range(5000))


class StuckSink(Sink):
    """A terminal that was stopped: a write does not return until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.let_go = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.entered.set()
        assert self.let_go.wait(10)
        return super().write(text)


async def test_a_stuck_reader_of_the_log_does_not_hold_up_the_gateway_and_what_it_missed_is_counted() -> None:
    sink = StuckSink()
    with Telemetry(sink, form="json", buffer=3) as telemetry:
        telemetry.event("first")
        assert await asyncio.to_thread(sink.entered.wait, 10)
        for number in range(10):
            telemetry.event("tick", number=number)
        sink.let_go.set()
    assert [event["event"] for event in sink.events] == ["first", "tick", "tick", "tick", "telemetry.dropped"]
    assert sink.events[-1]["lines"] == 7


def test_a_reader_that_went_away_ends_nothing() -> None:
    sink = Sink()
    telemetry = Telemetry(sink, form="json")
    sink.close()
    telemetry.event("turn.finished")
    telemetry.close()


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def test_the_libraries_own_logging_and_pythons_warnings_go_the_same_way(root_logger: logging.Logger) -> None:
    with Telemetry(sink := Sink(), form="json") as telemetry:
        telemetry.route_logging()
        logging.getLogger("some.library").warning("it said %s", f"bot{BOT_TOKEN}")
        logging.getLogger("some.library").debug("not this")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("an old way", DeprecationWarning, stacklevel=1)
    first, second = sink.events
    assert (first["event"], first["level"], first["logger"]) == ("log", "warning", "some.library")
    assert first["message"] == "it said bot123456789:[redacted]"
    assert "an old way" in str(second["message"])


def test_an_exception_in_a_library_is_one_line_too(root_logger: logging.Logger) -> None:
    with Telemetry(sink := Sink(), form="json") as telemetry:
        telemetry.route_logging()
        try:
            raise ValueError("of no use")
        except ValueError:
            logging.getLogger("some.library").exception("it broke")
    (event,) = sink.events
    assert (event["error"], event["level"]) == ("ValueError", "error")
    assert "of no use" in str(event["traceback"])


def test_events_are_counted_by_outcome_and_timed() -> None:
    metrics = Metrics()
    metrics.count("turn.finished", "completed", 0.3)
    metrics.count("turn.finished", "completed", 400.0)
    text = metrics.render().decode()
    assert 'frontdesk_events_total{event="turn.finished",outcome="completed"} 2.0' in text
    assert 'frontdesk_event_duration_seconds_bucket{event="turn.finished",le="0.25"} 0.0' in text
    assert 'frontdesk_event_duration_seconds_bucket{event="turn.finished",le="0.5"} 1.0' in text
    assert 'frontdesk_event_duration_seconds_bucket{event="turn.finished",le="+Inf"} 2.0' in text
    assert 'frontdesk_event_duration_seconds_sum{event="turn.finished"} 400.3' in text


def test_delivery_attempts_have_a_number_of_their_own() -> None:
    metrics = Metrics()
    metrics.count("delivery.attempted", "unknown", None)
    assert 'frontdesk_deliveries_total{outcome="unknown"} 1.0' in metrics.render().decode()


def test_a_gauge_is_read_at_each_scrape() -> None:
    metrics, lengths = Metrics(), {"support": 1.0}
    metrics.gauge("queue_length", "Messages waiting", lambda: lengths, label="account")
    metrics.gauge("store_healthy", "1 while the store commits", lambda: 1.0)
    lengths["support"] = 2.0
    text = metrics.render().decode()
    assert 'frontdesk_queue_length{account="support"} 2.0' in text
    assert "frontdesk_store_healthy 1.0" in text


def test_mistaken_outcomes_cannot_grow_the_numbers_without_end() -> None:
    metrics = Metrics()
    for number in range(MOST_SERIES + 50):
        metrics.count("turn.finished", str(number), None)
    assert metrics.render().decode().count("frontdesk_events_total{") == MOST_SERIES + 1


def test_the_time_of_a_line_is_right_across_seconds() -> None:
    assert [timestamp(at) for at in (0.999, 1.0, 0.5)] == [
        "1970-01-01T00:00:00.999Z",
        "1970-01-01T00:00:01.000Z",
        "1970-01-01T00:00:00.500Z",
    ]


def test_both_formats_and_both_escapes_agree_on_what_is_harmless() -> None:
    for line in (json_line(0.0, "info", "e", {"v": NASTY}), text_line(0.0, "info", "e", {"v": NASTY})):
        assert safe(line) == printable(line)
