-- Observations: what a step of a turn changes, and where its thread goes from there.

-- name: live
-- A turn at work, as far as an observation needs it.
SELECT conversation, session, generation, revision, cancel_wanted FROM turn
WHERE n = ? AND id = ? AND state IN ('running', 'waiting');

-- name: observe_turn
UPDATE turn SET revision = ?, submission = ?, asked = ?, task_id = ?, context_id = ? WHERE n = ?;

-- name: end_turn
-- The same, and the turn leaves its lane; or it waits, when `ended` is null.
UPDATE turn SET revision = ?, submission = ?, asked = ?, task_id = ?, context_id = ?, state = ?, ended = ?, reason = ?
WHERE n = ?;

-- name: change_turns_agent
UPDATE turn SET agent = ? WHERE n = ?;

-- name: change_threads_agent
UPDATE thread SET agent = ? WHERE n = ?;

-- name: mark_troubled
UPDATE turn SET is_troubled = 1 WHERE n = ?;

-- name: put_task
INSERT INTO remote_task (agent, task_id, context_id, owner, turn, state, state_time, heard, disposition, unconfirmed,
    binding)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, task_id) DO UPDATE SET context_id = excluded.context_id, turn = excluded.turn,
    state = excluded.state, state_time = excluded.state_time, heard = excluded.heard,
    disposition = excluded.disposition, unconfirmed = excluded.unconfirmed,
    binding = excluded.binding, revision = revision + 1;

-- name: insert_record
INSERT INTO inbox (turn, revision, n, task_id, road, kind, body, heard) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: put_context
INSERT INTO remote_context (session, agent, generation, context_id) VALUES (?, ?, ?, ?)
ON CONFLICT (session, agent, generation) DO UPDATE SET context_id = excluded.context_id;

-- name: has_queued
SELECT EXISTS (SELECT 1 FROM envelope
    WHERE thread = ?1 AND state = 'queued' AND seq > (SELECT taken FROM thread WHERE n = ?1));

-- name: end_thread
UPDATE thread SET state = ?, is_active = 0 WHERE n = ?;

-- name: queue_again
UPDATE thread SET state = 'queued' WHERE n = ?;

-- name: wake_is_taken
-- An agent that gives one task id to two threads must not stop either.
SELECT EXISTS (SELECT 1 FROM thread WHERE wake_kind = ? AND wake_key = ? AND wake_key <> '' AND n <> ?);

-- name: wait_thread
UPDATE thread SET state = 'waiting', wake_kind = ?, wake_key = ?, task_id = ?, asks = ? WHERE n = ?;

-- name: leave_wait
UPDATE thread SET wake_kind = '', wake_key = '' WHERE n = ?;

-- name: leave_foreground
UPDATE thread SET is_foreground = 0 WHERE n = ?;

-- name: first_queued
SELECT seq, id FROM envelope
WHERE thread = ?1 AND state = 'queued' AND seq > (SELECT taken FROM thread WHERE n = ?1) ORDER BY seq LIMIT 1;

-- name: split_thread
-- What was queued behind a question goes on in a thread of its own.
INSERT INTO thread (n, id, session, conversation, owner, agent, state, is_foreground)
SELECT :new, :id, session, conversation, owner, agent, 'queued', 1 FROM thread WHERE n = :old;

-- name: move_queued
UPDATE envelope SET thread = :new
WHERE thread = :old AND state = 'queued' AND seq > (SELECT taken FROM thread WHERE n = :old);

-- name: queue_answer
-- What it asked is answered by what is queued for it already.
UPDATE thread SET state = 'queued', wake_kind = '', wake_key = '' WHERE n = ?;
