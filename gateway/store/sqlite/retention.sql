-- Retention: what is past its time goes, in small steps. An address is never removed, nor anything that leads to one
-- while a remote task may still answer or a delivery's fate is not known.

-- name: old_keys
-- A slice of all keys in their order: an index on the expiry would cost every message, this costs an idle hour.
SELECT source, key, expires FROM dedupe WHERE (source, key) > (?, ?) ORDER BY source, key LIMIT ?;

-- name: drop_key
DELETE FROM dedupe WHERE source = ? AND key = ?;

-- name: old_turns
-- A slice in their order ends at the first that is young enough.
SELECT n.n, n.begun, n.thread, n.state, t.is_active, t.turn, t.resume FROM turn n JOIN thread t ON t.n = n.thread
WHERE n.n > ? ORDER BY n.n LIMIT ?;

-- name: tasks_of_turn
SELECT k.state, k.disposition FROM turn n JOIN remote_task k ON k.agent = n.agent AND k.task_id IN (n.task_id, n.continues)
WHERE n.n = :turn;

-- name: deliveries_of_turn
SELECT lane_seq, state, conversation, shown FROM delivery WHERE turn = ?;

-- name: drop_attempts
DELETE FROM attempt WHERE delivery = ?;

-- name: drop_receipt
DELETE FROM receipt WHERE conversation = ? AND vendor_message_id = ? AND delivery = ?;

-- name: drop_deliveries
DELETE FROM delivery WHERE turn = ?;

-- name: drop_inbox
DELETE FROM inbox WHERE turn = ?;

-- name: drop_tasks
-- Unless a later turn is about the task.
DELETE FROM remote_task WHERE (agent, task_id) = (SELECT agent, task_id FROM turn WHERE n = ?1) AND turn = ?1;

-- name: drop_envelopes
-- Never the newest: the next one's seq counts from it.
DELETE FROM envelope WHERE seq IN (SELECT envelope FROM turn_envelope WHERE turn = ?)
    AND seq < (SELECT max(seq) FROM envelope);

-- name: drop_turn
DELETE FROM turn WHERE n = ?;

-- name: drop_thread
-- One that is over and has nothing left.
DELETE FROM thread WHERE n = ?1 AND is_active = 0
    AND NOT EXISTS (SELECT 1 FROM envelope WHERE thread = ?1) AND NOT EXISTS (SELECT 1 FROM turn WHERE thread = ?1);

-- name: old_envelopes
-- Those that no turn took: dropped, or history only.
SELECT seq, received, state FROM envelope WHERE seq > ? AND seq < (SELECT max(seq) FROM envelope) ORDER BY seq LIMIT ?;

-- name: drop_envelope
DELETE FROM envelope WHERE seq = ?;

-- name: old_raw
SELECT id, received FROM raw_inbound WHERE id > ? AND id < (SELECT max(id) FROM raw_inbound) ORDER BY id LIMIT ?;

-- name: drop_raw
DELETE FROM raw_inbound WHERE id = ?;
