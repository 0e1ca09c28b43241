-- Dedupe keys: what an update is known by, and the envelope that it became.

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
