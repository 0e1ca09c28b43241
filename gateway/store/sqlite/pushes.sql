-- Where agents may push: one target for each task that is open, bound to the turn that made it.

-- name: open_push
INSERT INTO push_target (id, agent, turn, digest) VALUES (?, ?, ?, ?);

-- name: close_push
DELETE FROM push_target WHERE id = ?;

-- name: drop_orphans
DELETE FROM push_target WHERE NOT EXISTS (SELECT 1 FROM turn n WHERE n.n = push_target.turn);

-- name: push_targets
-- Each with its task, once the agent named it, and the newest turn about that.
SELECT p.id, p.agent, coalesce(m.id, n.id), p.digest, coalesce(n.task_id, '')
FROM push_target p JOIN turn n ON n.n = p.turn
    LEFT JOIN remote_task k ON k.agent = p.agent AND k.task_id = n.task_id
    LEFT JOIN turn m ON m.n = k.turn;
