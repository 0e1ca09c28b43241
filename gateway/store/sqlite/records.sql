-- What operators and chat pages see. All of it reads; every list is by key, newest first, and bounded.

-- name: sessions
SELECT s.id, s.kind, s.owner, s.agent, s.created, c.source AS account, c.vendor_chat AS chat, c.topic
FROM session s JOIN conversation c ON c.id = s.conversation
WHERE s.id < :cursor AND (:state IS NULL OR (:state = 'active') = EXISTS (
    SELECT 1 FROM thread t WHERE t.conversation = c.id AND t.is_active = 1))
ORDER BY s.id DESC LIMIT :limit;

-- name: session
SELECT s.id, s.kind, s.owner, s.agent, s.created, s.conversation, c.source AS account, c.vendor_chat AS chat, c.topic
FROM session s JOIN conversation c ON c.id = s.conversation WHERE s.id = :id;

-- name: timeline_messages
SELECT e.received AS time, e.id, e.command,
    CASE WHEN e.state = 'queued' AND e.seq <= t.taken THEN 'taken' ELSE e.state END AS state
FROM envelope e LEFT JOIN thread t ON t.n = e.thread
WHERE e.conversation = :conversation ORDER BY e.seq DESC LIMIT :limit;

-- name: timeline_turns
-- The turns that took the newest messages.
WITH recent AS (SELECT seq, thread FROM envelope WHERE conversation = :conversation ORDER BY seq DESC LIMIT :limit)
SELECT DISTINCT n.begun AS time, n.id, n.state FROM recent r
    JOIN turn n ON n.thread = r.thread AND r.seq BETWEEN n.n AND n.last_seq;

-- name: timeline_deliveries
-- And the deliveries of these turns.
WITH recent AS (SELECT seq, thread FROM envelope WHERE conversation = :conversation ORDER BY seq DESC LIMIT :limit)
SELECT coalesce(d.attempted, d.queued) AS time, n.id || '-' || d.lane_seq AS id, d.piece, d.state
FROM delivery d JOIN turn n ON n.n = d.turn
WHERE d.turn IN (SELECT m.n FROM recent r JOIN turn m ON m.thread = r.thread AND r.seq BETWEEN m.n AND m.last_seq);

-- name: envelope
SELECT e.id, e.session, coalesce(t.id, '') AS thread, coalesce(n.id, '') AS turn, e.owner, e.person,
    CASE WHEN e.state = 'queued' AND e.seq <= t.taken THEN 'taken' ELSE e.state END AS state, e.external_id, e.received
FROM envelope e LEFT JOIN thread t ON t.n = e.thread
    LEFT JOIN turn n ON n.thread = e.thread AND e.seq BETWEEN n.n AND n.last_seq AND e.state = 'queued'
WHERE e.id = :id;

-- name: unreadable
-- What was authentic and could not be read, newest first.
SELECT id, source AS account, external_id, received, error, length(raw) AS bytes FROM raw_inbound
WHERE outcome <> 'admitted' AND outcome = 'unreadable' AND id < :cursor ORDER BY id DESC LIMIT :limit;

-- name: unreadable_one
SELECT id, source AS account, external_id, received, error, length(raw) AS bytes, substr(raw, 1, :shown) AS raw
FROM raw_inbound WHERE id = :id AND outcome = 'unreadable';

-- name: tasks
SELECT k.id, k.agent, k.task_id, k.context_id, k.state, k.disposition, k.heard, k.unconfirmed, k.binding, k.owner, n.id AS turn,
    coalesce(s.id, '') AS served_task
FROM remote_task k LEFT JOIN turn n ON n.n = k.turn LEFT JOIN served_task s ON s.n = n.thread
WHERE k.id < :cursor AND (:state IS NULL OR k.state = :state) ORDER BY k.id DESC LIMIT :limit;

-- name: open_tasks
-- The same for a state that the index of what is not completed knows.
SELECT k.id, k.agent, k.task_id, k.context_id, k.state, k.disposition, k.heard, k.unconfirmed, k.binding, k.owner, n.id AS turn,
    coalesce(s.id, '') AS served_task
FROM remote_task k LEFT JOIN turn n ON n.n = k.turn LEFT JOIN served_task s ON s.n = n.thread
WHERE k.state <> 'completed' AND k.state = :state AND k.id < :cursor ORDER BY k.id DESC LIMIT :limit;

-- name: tasks_made_of
-- The same by what the gateway makes of them; the wish to cancel one that has ended is no news any more.
SELECT k.id, k.agent, k.task_id, k.context_id, k.state, k.disposition, k.heard, k.unconfirmed, k.binding, k.owner, n.id AS turn,
    coalesce(s.id, '') AS served_task
FROM remote_task k LEFT JOIN turn n ON n.n = k.turn LEFT JOIN served_task s ON s.n = n.thread
WHERE k.id < :cursor AND CASE :state WHEN 'unconfirmed' THEN k.unconfirmed = 1 WHEN 'cancel_asked'
    THEN k.disposition = :state AND k.state NOT IN ('completed', 'failed', 'canceled', 'rejected')
    ELSE k.disposition = :state END
ORDER BY k.id DESC LIMIT :limit;

-- name: tasks_called
-- What else than its own id a task is called by: its agent's id of it, or that of the caller whose work it does.
SELECT id FROM remote_task WHERE agent IN (SELECT DISTINCT agent FROM remote_task) AND task_id = :called
UNION
SELECT k.id FROM served_task s JOIN turn n ON n.thread = s.n JOIN inbox i ON i.turn = n.n
    JOIN remote_task k ON k.agent = n.agent AND k.task_id = i.task_id
WHERE s.n = :thread AND s.id = :called
LIMIT 2;

-- name: task
SELECT k.id, k.agent, k.task_id, k.context_id, k.state, k.disposition, k.heard, k.unconfirmed, k.binding, k.owner, n.id AS turn,
    coalesce(s.id, '') AS served_task
FROM remote_task k LEFT JOIN turn n ON n.n = k.turn LEFT JOIN served_task s ON s.n = n.thread WHERE k.id = :id;

-- name: inbox
-- What the agent said of a task, over all turns of its thread.
SELECT i.heard AS time, i.road, i.kind, i.body FROM remote_task k JOIN turn n ON n.n = k.turn
    JOIN turn m ON m.thread = n.thread JOIN inbox i ON i.turn = m.n
WHERE k.id = :id AND i.task_id = k.task_id ORDER BY i.turn, i.revision, i.n LIMIT :limit;

-- name: deliveries
SELECT n.id || '-' || d.lane_seq AS id, d.lane_seq, d.conversation, c.source AS account, c.vendor_chat AS chat, d.owner,
    n.id AS turn, d.piece, d.part, d.parts, d.op, d.state, d.reason, d.queued, d.due, d.attempts, d.is_repeat
FROM delivery d JOIN turn n ON n.n = d.turn JOIN conversation c ON c.id = d.conversation
WHERE d.lane_seq < :cursor AND (:state IS NULL OR d.state = :state) ORDER BY d.lane_seq DESC LIMIT :limit;

-- name: deliveries_in_lanes
SELECT n.id || '-' || d.lane_seq AS id, d.lane_seq, d.conversation, c.source AS account, c.vendor_chat AS chat, d.owner,
    n.id AS turn, d.piece, d.part, d.parts, d.op, d.state, d.reason, d.queued, d.due, d.attempts, d.is_repeat
FROM delivery d JOIN turn n ON n.n = d.turn JOIN conversation c ON c.id = d.conversation
WHERE d.is_in_lane = 1 AND d.lane_seq < :cursor AND d.state = :state ORDER BY d.lane_seq DESC LIMIT :limit;

-- name: deliveries_in_trouble
SELECT n.id || '-' || d.lane_seq AS id, d.lane_seq, d.conversation, c.source AS account, c.vendor_chat AS chat, d.owner,
    n.id AS turn, d.piece, d.part, d.parts, d.op, d.state, d.reason, d.queued, d.due, d.attempts, d.is_repeat
FROM delivery d JOIN turn n ON n.n = d.turn JOIN conversation c ON c.id = d.conversation
WHERE d.is_troubled = 1 AND d.lane_seq < :cursor AND d.state = :state ORDER BY d.lane_seq DESC LIMIT :limit;

-- name: delivery
SELECT n.id || '-' || d.lane_seq AS id, d.lane_seq, d.conversation, c.source AS account, c.vendor_chat AS chat, d.owner,
    n.id AS turn, d.piece, d.part, d.parts, d.op, d.state, d.reason, d.queued, d.due, d.attempts, d.is_repeat, d.payload
FROM delivery d JOIN turn n ON n.n = d.turn JOIN conversation c ON c.id = d.conversation
WHERE d.lane_seq = :lane_seq AND n.id = :turn;

-- name: attempts
-- Those with an outcome, then the one under way.
SELECT n, begun, ended, outcome, reason FROM attempt WHERE delivery = :lane_seq
UNION ALL
SELECT attempts, attempted, NULL, '', '' FROM delivery WHERE lane_seq = :lane_seq AND state = 'attempting'
ORDER BY n;

-- name: counts
-- Counts by state of everything; what ended in the ordinary way is the rest.
SELECT 'sessions' AS what, 'all' AS state, count(*) AS n FROM session
UNION ALL SELECT 'envelopes', 'all', count(*) FROM envelope
UNION ALL SELECT 'envelopes', 'queued', count(*) FROM thread t
    JOIN envelope e ON e.thread = t.n AND e.seq > t.taken AND e.state = 'queued' WHERE t.is_active = 1
UNION ALL SELECT 'envelopes', state, count(*) FROM envelope WHERE state <> 'queued' GROUP BY state
UNION ALL SELECT 'envelopes', CASE outcome WHEN 'unreadable' THEN outcome ELSE 'refused' END, count(*) FROM raw_inbound
    WHERE outcome <> 'admitted' AND outcome <> 'moved' GROUP BY 2
UNION ALL SELECT 'threads', state, count(*) FROM thread WHERE is_active = 1 GROUP BY state
UNION ALL SELECT 'turns', 'all', count(*) FROM turn
UNION ALL SELECT 'turns', n.state, count(*) FROM thread t JOIN turn n ON n.n = t.turn
    WHERE t.is_active = 1 AND n.state IN ('running', 'waiting') GROUP BY n.state
UNION ALL SELECT 'turns', state, count(*) FROM turn
    WHERE is_troubled = 1 AND state NOT IN ('running', 'waiting', 'completed') GROUP BY state
UNION ALL SELECT 'submissions', 'all', (SELECT count(*) FROM turn) - (SELECT count(*) FROM turn WHERE is_desk = 1)
UNION ALL SELECT 'submissions', 'intended', count(*) FROM thread t JOIN turn n ON n.n = t.turn
    WHERE t.is_active = 1 AND n.submission = 'intended'
UNION ALL SELECT 'submissions', submission, count(*) FROM turn
    WHERE is_troubled = 1 AND submission IN ('submission_unknown', 'rejected') GROUP BY submission
UNION ALL SELECT 'tasks', 'all', count(*) FROM remote_task
UNION ALL SELECT 'tasks', state, count(*) FROM remote_task WHERE state <> 'completed' GROUP BY state
UNION ALL SELECT 'deliveries', 'all', count(*) FROM delivery
UNION ALL SELECT 'deliveries', state, count(*) FROM delivery WHERE is_in_lane = 1 GROUP BY state
UNION ALL SELECT 'deliveries', state, count(*) FROM delivery WHERE is_troubled = 1 GROUP BY state;

-- name: left
-- For whom there is work, and how many messages of it are queued or being worked on.
SELECT t.agent, c.source AS account, count(*) AS threads, sum(
    (SELECT count(*) FROM envelope e WHERE e.thread = t.n AND e.seq > t.taken AND e.state = 'queued')
    + (SELECT count(*) FROM turn n JOIN turn_envelope x ON x.turn = n.n
        WHERE n.n = t.turn AND n.state IN ('running', 'waiting'))) AS messages
FROM thread t INDEXED BY thread_active JOIN conversation c ON c.id = t.conversation
WHERE t.is_active = 1 AND t.is_desk = 0 GROUP BY 1, 2 ORDER BY 1, 2;

-- name: unknown_ids
-- The channel's ids of the messages whose delivery or submission nobody knows the fate of.
SELECT DISTINCT e.external_id AS id FROM turn_envelope x JOIN envelope e ON e.seq = x.envelope
WHERE x.turn IN (SELECT turn FROM delivery WHERE is_troubled = 1 AND state = 'unknown'
    UNION SELECT n FROM turn WHERE is_troubled = 1 AND submission = 'submission_unknown')
ORDER BY 1 LIMIT :limit;

-- name: history_messages
SELECT e.id, e.received AS at, e.parts, coalesce(n.id, '') AS turn FROM envelope e
    LEFT JOIN turn n ON n.thread = e.thread AND e.seq BETWEEN n.n AND n.last_seq AND e.state = 'queued'
WHERE e.conversation = :conversation ORDER BY e.seq DESC LIMIT :limit;

-- name: history_deliveries
-- What was shown by the turns of the newest messages, with the deliveries of the revision before that it took the place
-- of: its own part, and for the last part all that the new words need no part for any more.
WITH recent AS (SELECT seq, thread FROM envelope WHERE conversation = :conversation ORDER BY seq DESC LIMIT :limit)
SELECT n.id || '-' || d.lane_seq AS id, coalesce(d.attempted, d.queued) AS at, d.payload, n.id AS turn, CASE d.op
    WHEN 'replace' THEN (
        SELECT json_group_array(n.id || '-' || o.lane_seq) FROM delivery o
        WHERE o.turn = d.turn AND o.piece = d.piece AND o.state IN ('delivered', 'presumed')
            AND (o.part = d.part OR d.part = d.parts - 1 AND o.part > d.part) AND o.revision = (
                SELECT max(p.revision) FROM delivery p WHERE p.turn = d.turn AND p.piece = d.piece
                    AND p.revision < d.revision AND p.state IN ('delivered', 'presumed')))
    ELSE '[]' END AS replaces
FROM delivery d JOIN turn n ON n.n = d.turn
WHERE d.turn IN (SELECT m.n FROM recent r JOIN turn m ON m.thread = r.thread AND r.seq BETWEEN m.n AND m.last_seq)
    AND d.state IN ('delivered', 'presumed')
ORDER BY d.lane_seq DESC LIMIT :limit;

-- name: conversation_at
SELECT coalesce(nullif(c.merged_into, ''), c.id) AS id FROM conversation c
WHERE c.source = :source AND c.topic = :topic AND c.vendor_chat = coalesce(
    (SELECT new_chat FROM chat_alias WHERE source = :source AND old_chat = :chat), :chat);
