"""Every plugin says what it keeps to, and what it says is shown by tests that exist or explained."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway import catalogue
from tests.conftest import ROOT

PLUGINS = sorted(path.name for path in (ROOT / "plugins").iterdir() if (path / "plugin.py").is_file())
STATUSES = {"done": "shown_by", "todo": "because", "exempt": "because"}


def rules(plugin: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "plugins" / plugin / "quality.yaml").read_text("utf-8"))
    return found


RULES = [(plugin, name) for plugin in PLUGINS for name in rules(plugin)]


def names_in(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_kind_that_can_be_configured_has_a_file_of_quality() -> None:
    assert set(PLUGINS) == {kind for kind, (model, _) in catalogue.PLUGINS.items() if model.startswith("plugins.")}


@pytest.mark.parametrize(("plugin", "name"), RULES)
def test_a_rule_is_done_with_its_tests_or_left_with_its_reason(plugin: str, name: str) -> None:
    rule = rules(plugin)[name]
    assert set(rule) == {"status", STATUSES[rule["status"]]}
    assert rule[STATUSES[rule["status"]]]


@pytest.mark.parametrize(("plugin", "name"), [it for it in RULES if rules(it[0])[it[1]]["status"] == "done"])
def test_the_tests_that_show_a_rule_exist(plugin: str, name: str) -> None:
    for shown in rules(plugin)[name]["shown_by"]:
        file, _, test = shown.partition("::")
        assert test in names_in(ROOT / "tests" / "plugins" / plugin / file), f"there is no {shown}"


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_has_the_files_that_the_guide_lists(plugin: str) -> None:
    folder = ROOT / "plugins" / plugin
    required = ("plugin.py", "settings.py", "translate.py", "render.py", "quality.yaml")
    assert [name for name in required if not (folder / name).is_file()] == []


@pytest.mark.parametrize("plugin", PLUGINS)
def test_translation_awaits_nothing(plugin: str) -> None:
    tree = ast.parse((ROOT / "plugins" / plugin / "translate.py").read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Await | ast.AsyncFunctionDef)]
