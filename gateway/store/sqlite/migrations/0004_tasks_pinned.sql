-- A task is asked over the interface that created it, also after a restart; '' for those begun before this version.
ALTER TABLE remote_task ADD COLUMN binding TEXT NOT NULL DEFAULT '';

-- Where a remote agent may push what it says of one turn's task. The secret itself is with the agent alone.
CREATE TABLE push_target (
    id TEXT PRIMARY KEY,                -- the random end of its path
    agent TEXT NOT NULL,
    turn INTEGER NOT NULL,              -- whose submission made it; its task is known by that turn
    digest BLOB NOT NULL                -- SHA-256 of the secret
) WITHOUT ROWID;
