-- What came in: its raw row and its envelope.

-- name: newest_raw
SELECT coalesce(max(id), 0) FROM raw_inbound;

-- name: newest_seq
SELECT coalesce(max(seq), 0) FROM envelope;

-- name: insert_raw
INSERT INTO raw_inbound (id, source, external_id, received, outcome, error, raw) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: insert_envelope
INSERT INTO envelope (seq, id, session, conversation, owner, thread, state, person, context_scope, command, parts,
    external_id, message_id, reply_to, is_forward, received, raw, attached)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
