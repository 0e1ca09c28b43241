-- What agents say beside a served task and its states, as far as their settings hand it on.

ALTER TABLE served_task ADD COLUMN metadata TEXT NOT NULL DEFAULT ''; -- JSON; '' for nothing
ALTER TABLE served_task ADD COLUMN is_bare INTEGER NOT NULL DEFAULT 0; -- its caller was answered with a bare message
