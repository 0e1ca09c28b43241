"""The versions of the schema, in order, forward only; a file that newer code has written is refused.

A migration expands first and contracts in a later version, so that the code of `oldest_code` still runs on it.
"""

import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from core.errors import ConfigurationError
from gateway.store.sqlite.queries import FOLDER


@dataclass(frozen=True, slots=True)
class Version:
    number: int
    file: str
    changed: str
    oldest_code: int  # the schema version that code must know at least, to run on this one


VERSIONS = (
    Version(1, "0001_first.sql", "the line from an update to what was shown of its answer", oldest_code=1),
    Version(2, "0002_chosen_agent.sql", "the agent that a conversation's people chose", oldest_code=1),
    Version(3, "0003_ended_local_tasks.sql", "what local agents left of ended tasks is gone", oldest_code=1),
    Version(4, "0004_tasks_pinned.sql", "the interface a task lives on; where agents push", oldest_code=1),
    Version(5, "0005_served.sql", "work that its channel follows: tasks served to calling agents", oldest_code=1),
    Version(6, "0006_reply_window.sql", "answers that ride on a pending request", oldest_code=1),
    Version(7, "0007_served_beside.sql", "what is said beside a served task", oldest_code=1),
    Version(8, "0008_tasks_owned.sql", "a remote task stays with its conversation", oldest_code=1),
    Version(9, "0009_tasks_untold.sql", "closed questions whose agents have yet to be told", oldest_code=1),
    Version(10, "0010_offers.sql", "which open question a message answers can be chosen", oldest_code=1),
)
CODE = VERSIONS[-1].number

_VERSION_TABLE = """CREATE TABLE IF NOT EXISTS schema_version (
    version INTEGER PRIMARY KEY, oldest_code INTEGER NOT NULL, changed TEXT NOT NULL, applied REAL NOT NULL)"""


def check(db: sqlite3.Connection, path: Path) -> int:
    """The file's version, 0 for a new one. Raises ConfigurationError when it is not for this code."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}
    if not names:
        return 0
    if "schema_version" not in names:
        raise ConfigurationError(
            f"{path} is the database of another program (it has a table {min(names)!r}); name another file",
            setting="gateway.store",
        )
    version, oldest = db.execute("SELECT max(version), max(oldest_code) FROM schema_version").fetchone()
    if (oldest or 0) > CODE:
        raise ConfigurationError(
            f"{path} has schema {version}, which needs a newer Frontdesk (this one knows schema {CODE}); "
            "run the version that wrote it, or restore a backup from before the upgrade",
            setting="gateway.store",
        )
    return int(version or 0)


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this code's schema, each version in a transaction of its own."""
    present = check(db, path)
    for version in VERSIONS[present:]:
        script = (FOLDER / "migrations" / version.file).read_text("utf-8")
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(_VERSION_TABLE)
            for statement in statements(script):
                db.execute(statement)
            row = (version.number, version.oldest_code, version.changed, time.time())
            db.execute("INSERT INTO schema_version VALUES (?, ?, ?, ?)", row)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def statements(script: str) -> list[str]:
    """A script's statements one by one: executescript would commit between them."""
    found, statement = [], ""
    for line in script.splitlines():
        statement += line.split("--")[0].rstrip() + "\n"
        if sqlite3.complete_statement(statement):
            found.append(statement.strip())
            statement = ""
    return [statement for statement in found if statement != ";"]
