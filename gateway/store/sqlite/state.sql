-- Leases with fencing, and what plugins remember, both by compare-and-set.

-- name: lease
SELECT holder, fence, until FROM lease WHERE name = ?;

-- name: put_lease
INSERT INTO lease (name, holder, fence, until) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until;

-- name: release_lease
-- The fence stays, so that the next holder's is higher.
UPDATE lease SET until = 0, holder = '' WHERE name = ? AND holder = ?;

-- name: void_leases
-- Whoever held one held the file, and is gone.
UPDATE lease SET until = 0, holder = '';

-- name: read_state
SELECT value, version FROM plugin_state WHERE account = ? AND name = ?;

-- name: insert_state
INSERT INTO plugin_state (account, name, value, version) VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING;

-- name: replace_state
UPDATE plugin_state SET value = ?, version = version + 1 WHERE account = ? AND name = ? AND version = ?;

-- name: forget_state
DELETE FROM plugin_state WHERE account = ? AND name = ? AND version = ?;
