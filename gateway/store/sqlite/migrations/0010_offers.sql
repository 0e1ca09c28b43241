-- Which open questions the desk offered the writer of a message that may answer any of them.
ALTER TABLE thread ADD COLUMN offers TEXT NOT NULL DEFAULT ''; -- JSON, of the desk's thread: its choices; '' once one was chosen
CREATE INDEX thread_offers ON thread (conversation) WHERE offers <> '';
