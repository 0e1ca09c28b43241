-- Turns: what a thread works on, whom it asks, and how far that got.

-- name: thread
SELECT session, conversation, owner, agent, state, is_desk, taken, resume, task_id, asks FROM thread WHERE id = ?;

-- name: queued_envelopes
-- Everything up to `taken` has left the queue already, so a long thread is not read again from its beginning.
SELECT e.seq, e.id, e.parts, e.external_id, e.message_id, e.command, e.is_forward, e.received, p.id, p.owner, p.language
FROM envelope e JOIN person p ON p.id = e.person
WHERE e.thread = ? AND e.seq > ? AND e.state = 'queued' ORDER BY e.seq LIMIT ?;

-- name: envelopes_of_turn
SELECT e.seq, e.id, e.parts, e.external_id, e.message_id, e.command, e.is_forward, e.received, p.id, p.owner, p.language
FROM envelope e JOIN person p ON p.id = e.person
WHERE e.thread = ? AND e.seq BETWEEN ? AND ? AND e.state = 'queued' ORDER BY e.seq;

-- name: task
SELECT task_id, context_id, state, state_time, heard, disposition, unconfirmed FROM remote_task
WHERE agent = ? AND task_id = ?;

-- name: context
SELECT context_id FROM remote_context WHERE session = ? AND agent = ? AND generation = ?;

-- name: insert_turn
INSERT INTO turn (id, thread, session, conversation, owner, agent, state, is_desk, first_seq, last_seq, submission,
    generation, context_id, continues, question, language, begun)
VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: begin_thread
UPDATE thread SET state = 'running', turn = ?, taken = ? WHERE id = ?;

-- name: observe_turn
-- The compare-and-set that everything an observation changes hangs on. What an agent says after the turn ended (of a
-- task that was cancelled and went on, say) is recorded as well.
UPDATE turn SET revision = revision + 1, submission = ?, asked = ?, task_id = ?, context_id = ?
WHERE id = ? AND revision = ?;

-- name: put_task
INSERT INTO remote_task (agent, task_id, context_id, owner, turn, state, state_time, heard, disposition, unconfirmed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, task_id) DO UPDATE SET context_id = excluded.context_id, turn = excluded.turn,
    state = excluded.state, state_time = excluded.state_time, heard = excluded.heard,
    disposition = excluded.disposition, unconfirmed = excluded.unconfirmed, revision = revision + 1;

-- name: insert_record
INSERT INTO inbox (turn, revision, n, task_id, road, kind, body, heard) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: put_context
INSERT INTO remote_context (session, agent, generation, context_id) VALUES (?, ?, ?, ?)
ON CONFLICT (session, agent, generation) DO UPDATE SET context_id = excluded.context_id;

-- name: has_queued
SELECT EXISTS (SELECT 1 FROM envelope
    WHERE thread = ?1 AND state = 'queued' AND seq > (SELECT taken FROM thread WHERE id = ?1));

-- name: end_thread
UPDATE thread SET state = ?, is_active = 0 WHERE id = ?;

-- name: wake_is_taken
-- An agent that gives one task id to two threads must not stop either.
SELECT EXISTS (SELECT 1 FROM thread WHERE wake_kind = ? AND wake_key = ? AND wake_key <> '' AND id <> ?);

-- name: wait_thread
UPDATE thread SET state = 'waiting', wake_kind = ?, wake_key = ?, task_id = ?, asks = ? WHERE id = ?;

-- name: first_queued
SELECT min(seq) FROM envelope
WHERE thread = ?1 AND state = 'queued' AND seq > (SELECT taken FROM thread WHERE id = ?1);

-- name: split_thread
-- What was queued behind a question goes on in a thread of its own.
INSERT INTO thread (id, session, conversation, owner, agent, state, is_foreground, opened)
SELECT :new, session, conversation, owner, agent, 'queued', 1, :opened FROM thread WHERE id = :old;

-- name: move_queued
UPDATE envelope SET thread = :new
WHERE thread = :old AND state = 'queued' AND seq > (SELECT taken FROM thread WHERE id = :old);

-- name: ready
SELECT t.owner, t.id, t.is_desk,
    (SELECT count(*) FROM envelope e WHERE e.thread = t.id AND e.seq > t.taken AND e.state = 'queued')
    + (SELECT count(*) FROM turn n JOIN envelope e ON e.thread = t.id AND e.seq BETWEEN n.first_seq AND n.last_seq
        WHERE n.id = t.resume AND e.state = 'queued')
FROM thread t WHERE t.is_active = 1 AND t.state = 'queued' ORDER BY t.opened;

-- name: turn
SELECT n.id, n.thread, n.session, n.owner, n.conversation, n.agent, n.begun, n.context_id, n.continues,
    n.cancel_wanted, n.revision, n.is_desk, n.state, n.first_seq, n.last_seq, n.submission, n.asked, k.task_id,
    k.context_id, k.state, k.state_time, k.heard, k.disposition, k.unconfirmed
FROM turn n LEFT JOIN remote_task k ON k.agent = n.agent AND k.task_id = n.task_id
WHERE n.id = ?;

-- name: turns_at_work
-- A thread's newest turn is the only one of it that can be at work.
SELECT n.id FROM thread t JOIN turn n ON n.id = t.turn
WHERE t.is_active = 1 AND n.state IN ('running', 'waiting') ORDER BY n.begun, n.id;

-- name: resume_turn
-- The person asked for it once more: the same message id goes out again.
UPDATE turn SET state = 'running', ended = NULL, reason = '', is_troubled = 0, cancel_wanted = 0,
    submission = 'intended', asked = 1, revision = revision + 1
WHERE id = ?;

-- name: begin_answer
-- The same for one that asked, or that was put back to work.
UPDATE thread SET state = 'running', turn = ?, taken = ?, resume = '', task_id = '', asks = '' WHERE id = ?;

-- name: live
-- What an observation needs of a turn beside what it brings.
SELECT conversation, session, generation, cancel_wanted FROM turn WHERE id = ?;

-- name: end_turn
-- The same, and the turn leaves its lane; or it waits, when `ended` is null.
UPDATE turn SET revision = revision + 1, submission = ?, asked = ?, task_id = ?, context_id = ?, state = ?, ended = ?,
    reason = ?
WHERE id = ? AND revision = ? AND state IN ('running', 'waiting');

-- name: mark_troubled
UPDATE turn SET is_troubled = 1 WHERE id = ?;

-- name: queue_again
UPDATE thread SET state = 'queued' WHERE id = ?;

-- name: leave_wait
UPDATE thread SET wake_kind = '', wake_key = '' WHERE id = ?;

-- name: leave_foreground
UPDATE thread SET is_foreground = 0 WHERE id = ?;
