-- The desk: what /status shows, and what /cancel, /new and /again change.

-- name: active_threads
-- What a cancel may cover, the newest first.
SELECT t.n, t.id, t.state, t.is_foreground, t.asks, t.task_id, t.agent, t.resume, t.taken, t.turn, n.id, n.state, n.last_seq
FROM thread t LEFT JOIN turn n ON n.n = t.turn
WHERE t.conversation = ? AND t.is_active = 1 AND t.is_desk = 0 ORDER BY t.n DESC;

-- name: queued_by
-- Queued messages of a thread admitted before the cancel; of one person, where one is given.
SELECT seq FROM envelope
WHERE thread = :thread AND seq > :taken AND state = 'queued' AND seq < :before
    AND (:person IS NULL OR person = :person);

-- name: turn_is_of
SELECT EXISTS (SELECT 1 FROM turn_envelope t JOIN envelope e ON e.seq = t.envelope WHERE t.turn = ? AND e.person = ?);

-- name: size_of_turn
SELECT count(*) FROM turn_envelope WHERE turn = ?;

-- name: want_cancel
UPDATE turn SET cancel_wanted = 1 WHERE n = ?;

-- name: thread_by_name
SELECT conversation FROM thread WHERE n = ? AND id = ? AND is_active = 1;

-- name: mark_cancel
UPDATE turn SET cancel_wanted = 1 WHERE n = ? AND id = ? AND state IN ('running', 'waiting');

-- name: drop_envelope
UPDATE envelope SET state = 'dropped' WHERE seq = ?;

-- name: close_question
-- A thread that only waited for the answer is over; one with answers queued goes on, as a new task.
UPDATE thread SET wake_kind = '', wake_key = '', task_id = '', asks = '', is_active = state <> 'waiting',
    state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE state END
WHERE n = ?;

-- name: asking_threads
SELECT n, id, agent, task_id FROM thread WHERE conversation = ? AND is_active = 1 AND asks <> '' ORDER BY n;

-- name: context_of_task
SELECT context_id, binding FROM remote_task WHERE agent = ? AND task_id = ?;

-- name: leave_queue
-- A queued thread with nothing left to begin is over.
UPDATE thread SET state = 'cancelled', is_active = 0
WHERE n = ? AND state = 'queued' AND resume = 0 AND NOT EXISTS (SELECT 1 FROM envelope e
    WHERE e.thread = thread.n AND e.seq > thread.taken AND e.state = 'queued');

-- name: detach_task
-- Nobody will answer it any more, which its agent has yet to hear.
UPDATE remote_task SET disposition = 'detached', is_untold = 1 WHERE agent = ? AND task_id = ? AND disposition = 'tracked';

-- name: drop_resume
UPDATE thread SET resume = 0 WHERE n = ?;

-- name: raise_generation
UPDATE session SET generation = generation + 1 WHERE id = ?;

-- name: choose
UPDATE session SET chosen = ? WHERE id = ?;

-- name: newest_unknown_submission
-- The newest of the conversation whose thread does nothing else and asks nothing.
SELECT n.n, n.thread, t.id, t.owner FROM turn n JOIN thread t ON t.n = n.thread
WHERE n.conversation = ? AND n.is_troubled = 1 AND n.submission = 'submission_unknown'
    AND n.state NOT IN ('running', 'waiting') AND t.state NOT IN ('running', 'waiting') AND t.resume = 0 AND t.asks = ''
ORDER BY n.n DESC LIMIT 1;

-- name: resume_thread
UPDATE thread SET state = 'queued', is_active = 1, resume = ? WHERE n = ?;

-- name: works
-- One line of /status for each active thread, with its newest turn and that turn's task.
SELECT t.n, t.id, t.state, t.agent, t.asks, t.taken, t.turn, n.state, n.begun, k.state, k.heard, k.disposition
FROM thread t LEFT JOIN turn n ON n.n = t.turn
    LEFT JOIN remote_task k ON k.agent = n.agent AND k.task_id = coalesce(n.task_id, n.continues)
WHERE t.conversation = ? AND t.is_active = 1 AND t.is_desk = 0 ORDER BY t.n;

-- name: question_of_turn
SELECT e.parts, e.received FROM turn_envelope t JOIN envelope e ON e.seq = t.envelope
WHERE t.turn = ? ORDER BY e.seq LIMIT 1;

-- name: queue_of_thread
SELECT count(*), min(seq) FROM envelope WHERE thread = ? AND seq > ? AND state = 'queued';

-- name: envelope
SELECT parts, received FROM envelope WHERE seq = ?;

-- name: unknown_deliveries
SELECT count(*) FROM delivery WHERE conversation = ? AND is_troubled = 1 AND state = 'unknown';

-- name: postponed
-- When the lane's next delivery is due, where that is not at once.
SELECT due FROM delivery WHERE conversation = ? AND is_in_lane = 1 ORDER BY lane_seq LIMIT 1;

-- name: unknown_submissions
SELECT count(*) FROM turn
WHERE conversation = ? AND is_troubled = 1 AND submission = 'submission_unknown' AND state NOT IN ('running', 'waiting');
