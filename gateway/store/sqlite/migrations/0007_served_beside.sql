-- What agents say beside a served task and its states, as far as their settings hand it on.

ALTER TABLE served_task ADD COLUMN metadata TEXT NOT NULL DEFAULT ''; -- JSON; '' for nothing
