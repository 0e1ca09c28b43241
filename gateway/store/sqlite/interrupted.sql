-- Interrupted tasks: what waits for a person, is answered by an operator, or moves on by itself.

-- name: asking
-- The thread that asks about a task, for an operator's reply to it.
SELECT t.n, t.id, t.conversation, t.asks FROM remote_task k JOIN turn n ON n.n = k.turn
    JOIN thread t ON t.n = n.thread
WHERE k.id = ? AND t.agent = k.agent AND t.task_id = k.task_id AND t.state = 'waiting' AND t.asks <> '';

-- name: open_task
SELECT agent, task_id, context_id, binding FROM remote_task WHERE id = ?;

-- name: waiting_turn
-- A turn that ended with a question which is still open.
SELECT n.n FROM turn n JOIN thread t ON t.n = n.thread
WHERE n.n = ? AND n.id = ? AND t.turn = n.n AND t.state = 'waiting' AND t.wake_kind = 'input' AND t.task_id <> '';

-- name: rouse_turn
-- Its revision goes past what was recorded after its end.
UPDATE turn SET state = 'waiting', ended = NULL, reason = '', is_troubled = 0,
    revision = 1 + max(revision, coalesce((SELECT max(i.revision) FROM inbox i WHERE i.turn = turn.n), 0))
WHERE n = ?;

-- name: watched
-- The turns whose task may go on by itself, as one that waits for a sign-in.
SELECT n.n FROM thread t INDEXED BY thread_active JOIN turn n ON n.n = t.turn
    JOIN remote_task k ON k.agent = t.agent AND k.task_id = t.task_id
WHERE t.is_active = 1 AND t.state = 'waiting' AND t.wake_kind = 'input' AND k.state = 'auth-required'
ORDER BY n.n;

-- name: untold
SELECT agent, task_id, context_id, binding FROM remote_task INDEXED BY remote_task_untold WHERE is_untold = 1 ORDER BY id;

-- name: told
UPDATE remote_task SET is_untold = 0 WHERE agent = ? AND task_id = ?;
