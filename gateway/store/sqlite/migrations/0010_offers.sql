-- Which open questions the desk offered the writer of a message that may answer any of them.
ALTER TABLE thread ADD COLUMN offers TEXT NOT NULL DEFAULT ''; -- JSON, of the desk's thread: its choices
ALTER TABLE thread ADD COLUMN is_chosen INTEGER NOT NULL DEFAULT 0; -- from its choices: they are out of date
CREATE INDEX thread_offers ON thread (conversation) WHERE offers <> '';
