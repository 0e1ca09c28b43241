"""The two guides to a WeChat account say the same, and what they show of the check is what it says."""

import re
from pathlib import Path

import pytest

from gateway.cli_commands import command
from tests.docs.reading import all_blocks, coded, document, prose
from tests.docs.test_examples import environment

GUIDES = ("docs/wechat.md", "docs/wechat.zh.md")
SAID = document("plugins/wechat/health.py")  # the doctor's sentences, in both languages
FIGURE = re.compile(r"\d+(?:[.,]\d+)+|\d{5}")


def shown(guide: str) -> list[tuple[str, list[str]]]:
    """Its blocks without their comments."""
    kinds = ("toml", "sh", "text", "")
    return [
        (it.info, [line.split(" #")[0].rstrip() for line in it.text.splitlines()])
        for kind in kinds
        for it in all_blocks(kind)
        if it.document == guide
    ]


def test_both_guides_show_the_same_files_and_commands() -> None:
    english, chinese = map(shown, GUIDES)
    assert english == chinese
    assert len(english) > 3


def test_both_guides_name_the_same_settings_events_and_figures() -> None:
    english, chinese = (set(coded(prose(document(guide)))) for guide in GUIDES)
    assert [word for word in english ^ chinese if word not in SAID] == []
    english, chinese = (set(FIGURE.findall(document(guide))) for guide in GUIDES)
    assert english == chinese


@pytest.mark.parametrize("guide", GUIDES)
def test_the_check_says_of_the_guides_account_what_the_guide_shows(
    guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (written,) = (it.text for it in all_blocks("toml") if it.document == guide)
    (line,) = (it.text for it in all_blocks("text") if it.document == guide)
    (tmp_path / "frontdesk.toml").write_text(written)
    for name, value in environment(written).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FRONTDESK_GATEWAY__STORE", f"sqlite:///{tmp_path / 'desk.db'}")
    assert command(["check", "--config", str(tmp_path / "frontdesk.toml")]) == 0
    assert line in capsys.readouterr().out
