"""The SQL itself: every query fits the schema, is used, and finds its rows by a key or an index."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.store.sqlite import schema
from gateway.store.sqlite.queries import FOLDER, load

FILES = sorted(file.name for file in FOLDER.glob("*.sql"))
QUERIES = [(file, name) for file in FILES for name in load(file)]

# Rare, or meant to read everything: a merge of two chats, counts for operators, a list of all that is newest.
WHOLE_TABLES = {
    "merge_threads",
    "merge_envelopes",
    "merge_turns",
    "merge_deliveries",
    "merge_conversation",
    "counts",
    "void_leases",
    "drop_orphans",
    "push_targets",
    "targets",  # once after a start
}

SMALL = r"INDEX|CONSTANT|VALUES|SCAN (r|recent|json_each|\()"  # a (partial) index, values, the newest messages


@pytest.fixture(scope="module")
def db() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db, Path("memory"))
    yield db
    db.close()


def plan(db: sqlite3.Connection, sql: str) -> list[str]:
    named = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
    places = max([int(n) for n in re.findall(r"\?(\d+)", sql)] or [sql.count("?")])
    values: object = named or [1] * places
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("file", "name"), QUERIES)
def test_a_query_fits_the_schema_and_reads_no_table_from_end_to_end(
    db: sqlite3.Connection, file: str, name: str
) -> None:
    steps = plan(db, load(file)[name])

    scans = [step for step in steps if step.startswith("SCAN") and not re.search(SMALL, step)]
    assert name in WHOLE_TABLES or not scans, steps


@pytest.mark.parametrize(("file", "name"), QUERIES)
def test_a_query_is_used(file: str, name: str) -> None:
    code = "".join(path.read_text("utf-8") for path in [*FOLDER.glob("*.py"), FOLDER.parent / "records.py"])

    assert re.search(rf'"{name}"', code) or name.startswith("merge_")


def test_every_query_has_a_name_of_its_own_in_its_file() -> None:
    for file in FILES:
        names = re.findall(r"^-- name: (\w+)$", (FOLDER / file).read_text("utf-8"), re.MULTILINE)
        assert len(names) == len(set(names)), file


def test_the_versions_of_the_schema_are_numbered_without_gaps_and_their_files_exist() -> None:
    assert [version.number for version in schema.VERSIONS] == list(range(1, schema.CODE + 1))
    files = {file.name for file in (FOLDER / "migrations").glob("*.sql")}
    assert {version.file for version in schema.VERSIONS} == files
    assert all(version.oldest_code <= version.number for version in schema.VERSIONS)
