-- A question that was closed, and whose agent has yet to be told: tried again after a start.
ALTER TABLE remote_task ADD COLUMN is_untold INTEGER NOT NULL DEFAULT 0;
CREATE INDEX remote_task_untold ON remote_task (id) WHERE is_untold = 1;
