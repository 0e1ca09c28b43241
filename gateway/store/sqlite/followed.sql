-- Followed work: its record is kept in step with its thread, and read as a whole.

-- name: insert_task
INSERT INTO served_task (n, id, owner, agent, topic, state, time) VALUES (?, ?, ?, ?, ?, 'submitted', ?);

-- name: keep_said
-- What the agent said of a state that is gone joins the history.
INSERT OR IGNORE INTO served_message (task, behind, turn, revision, said)
SELECT n, ?, turn, revision, said FROM served_task WHERE n = ? AND said <> '';

-- name: unsay
UPDATE served_task SET said = '' WHERE n = ?;

-- name: begin_task
UPDATE served_task SET state = 'working', time = max(time, ?), said = '', turn = ?, revision = ?
WHERE n = ? AND state NOT IN ('completed', 'failed', 'canceled', 'rejected');

-- name: step_task
-- Terminal is final.
UPDATE served_task SET state = ?, time = max(time, ?), said = ?, turn = ?, revision = ?
WHERE n = ? AND state NOT IN ('completed', 'failed', 'canceled', 'rejected');

-- name: metadata
SELECT metadata FROM served_task WHERE n = ?;

-- name: put_metadata
UPDATE served_task SET metadata = ?
WHERE n = ? AND state NOT IN ('completed', 'failed', 'canceled', 'rejected');

-- name: keep_bare
UPDATE served_task SET is_bare = 1 WHERE n = ? AND id = ?;

-- name: pass_task
-- Only artifacts are new.
UPDATE served_task SET turn = ?, revision = ? WHERE n = ?;

-- name: end_task
UPDATE served_task SET state = 'canceled', time = max(time, ?)
WHERE n = ? AND state NOT IN ('completed', 'failed', 'canceled', 'rejected');

-- name: newest_turn
SELECT n.id FROM thread t JOIN turn n ON n.n = t.turn WHERE t.n = ?;

-- name: put_artifact
INSERT INTO served_artifact (task, id, turn, place, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (task, id) DO UPDATE SET body = excluded.body;

-- name: drop_artifact
DELETE FROM served_artifact WHERE task = ? AND id = ?;

-- name: task
SELECT s.id, s.owner, s.topic, s.agent, s.state, s.time, s.said, s.metadata, s.is_bare, s.turn, s.revision,
    EXISTS (SELECT 1 FROM envelope e WHERE e.thread = s.n AND e.state = 'queued' AND e.seq > t.taken)
FROM served_task s JOIN thread t ON t.n = s.n WHERE s.n = ? AND s.id = ?;

-- name: artifacts
SELECT body FROM served_artifact WHERE task = ? ORDER BY turn, place;

-- name: said_before
SELECT behind, said FROM served_message WHERE task = ? ORDER BY behind, turn, revision;

-- name: messages
SELECT seq, message_id, parts, attached FROM envelope WHERE thread = ? ORDER BY seq;

-- name: thread_of
SELECT t.id FROM envelope e JOIN thread t ON t.n = e.thread WHERE e.id = ?;

-- name: thread_named
SELECT EXISTS (SELECT 1 FROM thread WHERE n = ? AND id = ? AND conversation = ? AND is_desk = 0);

-- name: page
SELECT n, id, time FROM served_task
WHERE owner = :owner AND agent = :agent AND (time, n) < (:time, :n) AND time >= :since
    AND (:topic = '' OR topic = :topic) AND (:state = '' OR state = :state)
ORDER BY time DESC, n DESC LIMIT :size;

-- name: total
SELECT count(*) AS total FROM served_task
WHERE owner = :owner AND agent = :agent AND time >= :since
    AND (:topic = '' OR topic = :topic) AND (:state = '' OR state = :state);

-- name: put_target
INSERT INTO served_push (task, id, conversation, settings) VALUES (?, ?, ?, ?)
ON CONFLICT (task, id) DO UPDATE SET settings = excluded.settings;

-- name: target_conversation
SELECT conversation FROM served_push WHERE task = ? AND id = ?;

-- name: drop_target
-- The row stays for as long as the task, since its conversation goes with it.
UPDATE served_push SET settings = '' WHERE task = ? AND id = ?;

-- name: discard_queued
UPDATE delivery SET state = 'discarded', is_in_lane = 0, is_troubled = 1, reason = 'nobody wants it any more'
WHERE conversation = ? AND is_in_lane = 1 AND state = 'queued';

-- name: targets
-- Few: of tasks that have not ended.
SELECT s.id AS thread, p.id, p.conversation, p.settings
FROM served_push p JOIN served_task s ON s.n = p.task JOIN conversation c ON c.id = p.conversation
WHERE c.source = ? AND p.settings <> '' AND s.state NOT IN ('completed', 'failed', 'canceled', 'rejected');

-- name: targets_of
SELECT s.id AS thread, p.id, p.conversation, p.settings
FROM served_push p JOIN served_task s ON s.n = p.task WHERE p.task = ? AND s.id = ? AND p.settings <> '' ORDER BY p.id;

-- name: target_conversations
SELECT conversation FROM served_push WHERE task = ?;

-- name: drop_session
DELETE FROM session WHERE id = (SELECT session FROM conversation WHERE id = ?);

-- name: drop_conversation
DELETE FROM conversation WHERE id = ?;

-- name: drop_targets
DELETE FROM served_push WHERE task = ?;

-- name: drop_artifacts
DELETE FROM served_artifact WHERE task = ?;

-- name: drop_said
DELETE FROM served_message WHERE task = ?;

-- name: drop_task
DELETE FROM served_task WHERE n = ?;

-- name: newest_seq
SELECT coalesce(max(seq), 0) FROM envelope;
