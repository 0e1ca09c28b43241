-- Admission: which thread a message joins, what waited for its person, and how far a source was read.

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

-- name: queue_waiting_for_user
-- The person wrote again, so the channel lets the bot speak: their age counts from now.
UPDATE delivery SET state = 'queued', is_in_lane = 1, is_troubled = 0, queued = ?1, due = ?1, not_after = ?2
WHERE conversation = ?3 AND is_troubled = 1 AND state = 'waiting_for_user';

-- name: bring_forward
-- A request is there that carries without the channel's leave: what was put off by that, for a day it may be, is due.
UPDATE delivery SET due = ?1 WHERE conversation = ?2 AND is_in_lane = 1 AND state = 'queued' AND due > ?1;

-- name: cursor
SELECT value FROM plugin_state WHERE account = ? AND name = ?;

-- name: put_cursor
INSERT INTO plugin_state (account, name, value, version) VALUES (?, ?, ?, 1)
ON CONFLICT (account, name) DO UPDATE SET value = excluded.value, version = version + 1;
