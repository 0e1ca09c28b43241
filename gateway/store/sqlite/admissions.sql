-- Admission: an update's raw row, its dedupe keys, who wrote where, and the envelope, in one transaction.

-- name: claim_key
-- Whoever inserts the key first has the update; a row count of 0 means it was seen.
INSERT INTO dedupe (source, key, envelope, expires) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: claim_two_keys
-- The same for the usual number of keys.
INSERT INTO dedupe (source, key, envelope, expires) VALUES (?1, ?2, ?3, ?4), (?1, ?5, ?3, ?4) ON CONFLICT DO NOTHING;

-- name: key
SELECT envelope, expires FROM dedupe WHERE source = ? AND key = ?;

-- name: point_key
-- A key that was new beside one that was seen, or one past its expiry, belongs to that envelope.
UPDATE dedupe SET envelope = ?, expires = ? WHERE source = ? AND key = ?;

-- name: newest_raw
SELECT coalesce(max(id), 0) FROM raw_inbound;

-- name: newest_seq
SELECT coalesce(max(seq), 0) FROM envelope;

-- name: insert_raw
INSERT INTO raw_inbound (id, source, external_id, received, outcome, error, raw) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: person
SELECT p.id, p.owner, p.language FROM identity i JOIN person p ON p.id = i.person
WHERE i.source = ? AND i.vendor_user = ?;

-- name: insert_person
INSERT INTO person (id, owner, language) VALUES (?, ?, ?);

-- name: insert_identity
INSERT INTO identity (source, vendor_user, person) VALUES (?, ?, ?);

-- name: update_language
UPDATE person SET language = ? WHERE id = ?;

-- name: update_agent
UPDATE session SET agent = ? WHERE id = ?;

-- name: thread_shown
-- The thread of a message that was shown here; a notice of the desk leads nowhere.
SELECT t.id FROM receipt r JOIN delivery d ON d.lane_seq = r.delivery JOIN turn n ON n.n = d.turn
    JOIN thread t ON t.n = n.thread
WHERE r.conversation = ? AND r.vendor_message_id = ? AND t.is_desk = 0;

-- name: thread_written
-- The thread of a message that a person wrote here, the newest where an edit bears the same id.
SELECT t.id FROM envelope e JOIN thread t ON t.n = e.thread
WHERE e.conversation = ? AND e.message_id = ? AND t.is_desk = 0 ORDER BY e.seq DESC LIMIT 1;

-- name: insert_thread
INSERT INTO thread (n, id, session, conversation, owner, agent, state, is_desk, is_foreground)
VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, ?);

-- name: queue_thread
-- A message joined: unless a turn of the thread is at work (or waits on its remote task), there is one to begin.
UPDATE thread SET state = 'queued', is_active = 1, wake_kind = '', wake_key = ''
WHERE n = ? AND state NOT IN ('queued', 'running') AND NOT (state = 'waiting' AND wake_kind = 'task');

-- name: insert_envelope
INSERT INTO envelope (seq, id, session, conversation, owner, thread, state, person, context_scope, command, parts,
    external_id, message_id, reply_to, is_forward, received, raw, attached)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: queue_waiting_for_user
-- The person wrote again, so the channel lets the bot speak: their age counts from now.
UPDATE delivery SET state = 'queued', is_in_lane = 1, is_troubled = 0, queued = ?1, due = ?1, not_after = ?2
WHERE conversation = ?3 AND is_troubled = 1 AND state = 'waiting_for_user';

-- name: cursor
SELECT value FROM plugin_state WHERE account = ? AND name = ?;

-- name: put_cursor
INSERT INTO plugin_state (account, name, value, version) VALUES (?, ?, ?, 1)
ON CONFLICT (account, name) DO UPDATE SET value = excluded.value, version = version + 1;
