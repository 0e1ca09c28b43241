-- Turns: what a thread works on, whom it asks, and how far that got.

-- name: thread
SELECT session, conversation, owner, agent, state, is_desk, taken, resume, task_id, asks FROM thread
WHERE n = ? AND id = ?;

-- name: queued_envelopes
-- Everything up to `taken` has left the queue already, so a long thread is not read again from its beginning.
SELECT e.seq, e.id, e.parts, e.external_id, e.message_id, e.command, e.is_forward, e.received, p.id, p.owner, p.language,
    e.attached
FROM envelope e JOIN person p ON p.id = e.person
WHERE e.thread = ? AND e.seq > ? AND e.state = 'queued' ORDER BY e.seq LIMIT ?;

-- name: envelopes_of_turn
SELECT e.seq, e.id, e.parts, e.external_id, e.message_id, e.command, e.is_forward, e.received, p.id, p.owner, p.language,
    e.attached
FROM turn_envelope t JOIN envelope e ON e.seq = t.envelope JOIN person p ON p.id = e.person
WHERE t.turn = ? ORDER BY e.seq;

-- name: insert_turn
INSERT INTO turn (n, last_seq, id, thread, session, conversation, owner, agent, state, is_desk, submission, generation,
    context_id, continues, question, language, begun)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?);

-- name: begin_thread
UPDATE thread SET state = 'running', turn = ?, taken = ? WHERE n = ?;

-- name: begin_answer
-- The same for one that asked, or that was put back to work.
UPDATE thread SET state = 'running', turn = ?, taken = ?, resume = 0, task_id = '', asks = '' WHERE n = ?;

-- name: resume_turn
-- The person asked for it once more: the same message id goes out again.
UPDATE turn SET state = 'running', ended = NULL, reason = '', is_troubled = 0, cancel_wanted = 0,
    submission = 'intended', asked = 1, revision = revision + 1
WHERE n = ?;

-- name: task
-- The interrupted task that a turn continues.
SELECT task_id, context_id, state, state_time, heard, disposition, unconfirmed, binding FROM remote_task
WHERE agent = ? AND task_id = ?;

-- name: ready
SELECT t.owner, t.id, t.is_desk,
    (SELECT count(*) FROM envelope e WHERE e.thread = t.n AND e.seq > t.taken AND e.state = 'queued')
    + (SELECT count(*) FROM turn_envelope x WHERE x.turn = t.resume) AS queued,
    c.source
FROM thread t INDEXED BY thread_active JOIN conversation c ON c.id = t.conversation
WHERE t.is_active = 1 AND (t.state = 'queued' OR queued > 0) ORDER BY t.n;

-- name: turn
SELECT n.id, t.id, n.session, n.owner, n.conversation, n.agent, n.begun, n.context_id, n.continues, n.cancel_wanted,
    n.revision, n.is_desk, n.state, n.submission, n.asked, n.preview, k.task_id, k.context_id, k.state, k.state_time, k.heard,
    k.disposition, k.unconfirmed, k.binding
FROM turn n JOIN thread t ON t.n = n.thread LEFT JOIN remote_task k
    ON k.agent = n.agent AND k.task_id = coalesce(n.task_id, n.continues)
WHERE n.n = ?;

-- name: turns_at_work
-- A thread's newest turn is the only one of it that can be at work.
SELECT n.n FROM thread t INDEXED BY thread_active JOIN turn n ON n.n = t.turn
WHERE t.is_active = 1 AND n.state IN ('running', 'waiting') ORDER BY n.begun, n.n;
