-- Work that its channel follows itself (core/following.py): what a calling agent can ask of the tasks it gave.
--
-- A served task is its thread, and has its number. Its messages are the thread's envelopes, so that an ordinary message
-- is stored once; what its agent said and went beyond stands in served_message, between them by their seq.

ALTER TABLE conversation ADD COLUMN is_followed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE envelope ADD COLUMN attached TEXT NOT NULL DEFAULT ''; -- JSON: what the sender put beside the parts

CREATE TABLE served_task (
    n INTEGER PRIMARY KEY,              -- its thread
    id TEXT NOT NULL,                   -- the thread's
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    topic TEXT NOT NULL,                -- of its conversation
    state TEXT NOT NULL,                -- as A2A names it; one that is terminal stays
    time REAL NOT NULL,                 -- of the state
    said TEXT NOT NULL DEFAULT '',      -- JSON: what the agent says of the state; '' for nothing
    turn INTEGER NOT NULL DEFAULT 0,    -- that made it so,
    revision INTEGER NOT NULL DEFAULT 0 -- and its revision
);
CREATE INDEX served_task_owner ON served_task (owner, agent, time, n);

CREATE TABLE served_artifact (
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    turn INTEGER NOT NULL,              -- that made it,
    place INTEGER NOT NULL,             -- and in which order
    body TEXT NOT NULL,                 -- JSON
    PRIMARY KEY (task, id)
) WITHOUT ROWID;

CREATE TABLE served_message (
    task INTEGER NOT NULL,
    behind INTEGER NOT NULL,            -- seq of the newest envelope before it
    turn INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    said TEXT NOT NULL,
    PRIMARY KEY (task, behind, turn, revision)
) WITHOUT ROWID;

-- Other addresses that hear of a task's changes. Each is a conversation, so its deliveries have a lane of their own.
CREATE TABLE served_push (
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    settings TEXT NOT NULL,             -- JSON, the plugin's own: never shown, since secrets stand in it
    PRIMARY KEY (task, id)
) WITHOUT ROWID;
