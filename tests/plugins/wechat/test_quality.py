"""The plugin's quality.yaml says nothing that the tests do not show."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import plugins.wechat

HERE = Path(__file__).parent
RULES: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(plugins.wechat.__file__).parent / "quality.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_shown_by_tests_or_says_why_not(name: str) -> None:
    rule = RULES[name]
    if rule["status"] != "done":
        assert rule["status"] in ("todo", "exempt")
        assert rule["because"]
        return
    assert rule["shown_by"]
    for shown in rule["shown_by"]:
        file, _, test = shown.partition("::")
        assert re.search(rf"def {test}\(", (HERE / file).read_text(encoding="utf-8")), f"there is no {shown}"
