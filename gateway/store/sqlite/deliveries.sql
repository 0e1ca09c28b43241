-- Deliveries: queued with what implies them, claimed one at a time in each lane, settled once.

-- name: newest_piece
-- The piece's newest revision, by its first part.
SELECT revision, digest FROM delivery WHERE turn = ? AND piece = ? AND part = 0 ORDER BY revision DESC LIMIT 1;

-- name: insert_delivery
-- A row count of 0 means that this revision of the piece is known.
INSERT INTO delivery (conversation, owner, turn, piece, part, parts, revision, digest, op, state, payload, queued, due,
    not_after)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: withdraw_queued
-- Words that changed before they were shown need not be shown.
UPDATE delivery SET state = 'withdrawn', is_in_lane = 0, is_troubled = 1, reason = 'a newer revision took its place'
WHERE turn = ? AND piece = ? AND state IN ('queued', 'waiting_for_user');

-- name: may_be_shown
SELECT EXISTS (SELECT 1 FROM delivery
    WHERE turn = ? AND piece = ? AND state IN ('attempting', 'delivered', 'presumed', 'unknown'));

-- name: head
-- The lane's next delivery with what an attempt needs of its turn. What was queued or attempted in the future waits for no
-- time: the clock was set back since.
SELECT d.lane_seq, d.state, iif(max(d.queued, coalesce(d.attempted, 0)) > ?2, 0, d.due), d.not_after, t.id, d.turn, d.piece, d.revision, d.payload, d.attempts, d.queued, d.op,
    d.part, d.parts, d.is_repeat, t.question, t.last_seq, t.language, t.preview
FROM delivery d JOIN turn t ON t.n = d.turn
WHERE d.conversation = ?1 AND d.is_in_lane = 1 ORDER BY d.lane_seq LIMIT 1;

-- name: behind
-- What is due next behind one that is being attempted.
SELECT d.lane_seq, d.state, d.due, d.not_after, t.id, d.turn, d.piece, d.revision, d.payload, d.attempts, d.queued, d.op,
    d.part, d.parts, d.is_repeat, t.question, t.last_seq, t.language, t.preview
FROM delivery d JOIN turn t ON t.n = d.turn
WHERE d.conversation = ? AND d.is_in_lane = 1 AND d.state = 'queued' AND d.lane_seq > ? AND d.due <= ?
    AND d.not_after >= ? ORDER BY d.lane_seq LIMIT 1;

-- name: attempting
-- By the lanes, which are short, however many deliveries there were.
SELECT d.lane_seq, d.state, d.due, d.not_after, t.id, d.turn, d.piece, d.revision, d.payload, d.attempts, d.queued, d.op,
    d.part, d.parts, d.is_repeat, t.question, t.last_seq, t.language, t.preview, d.conversation
FROM delivery d INDEXED BY delivery_lane JOIN turn t ON t.n = d.turn
WHERE d.is_in_lane = 1 AND d.state = 'attempting' ORDER BY d.lane_seq;

-- name: preview
UPDATE turn SET preview = ? WHERE n = ?;

-- name: bury
UPDATE delivery SET state = 'dead', is_in_lane = 0, is_troubled = 1, reason = ? WHERE lane_seq = ?;

-- name: attempt
-- Durable before the first byte: what a kill leaves behind in this state may have been shown.
UPDATE delivery SET state = 'attempting', attempts = attempts + 1, attempted = ? WHERE lane_seq = ?;

-- name: insert_attempt
INSERT INTO attempt (delivery, n, begun, ended, outcome, reason)
VALUES (?1, ?2, (SELECT attempted FROM delivery WHERE lane_seq = ?1), ?3, ?4, ?5);

-- name: shown_before
-- What the channel calls the parts of the newest revision before this one that it may have shown.
SELECT part, shown FROM delivery
WHERE turn = ?1 AND piece = ?2 AND revision = (
    SELECT max(revision) FROM delivery
    WHERE turn = ?1 AND piece = ?2 AND revision < ?3 AND state IN ('delivered', 'presumed'))
ORDER BY part;

-- name: insert_receipt
INSERT OR REPLACE INTO receipt (conversation, vendor_message_id, delivery) VALUES (?, ?, ?);

-- name: bury_lane
UPDATE delivery SET state = 'dead', is_in_lane = 0, is_troubled = 1, reason = ?
WHERE conversation = ? AND is_in_lane = 1 AND state = 'queued';

-- name: follow_parts
-- The later parts of a piece share its fate.
UPDATE delivery SET state = ?, is_in_lane = 0, is_troubled = 1, reason = ?
WHERE turn = ? AND piece = ? AND revision = ? AND part > ? AND state = 'queued';

-- name: has_queued
SELECT EXISTS (SELECT 1 FROM delivery WHERE conversation = ? AND is_in_lane = 1 AND state = 'queued');

-- name: lanes
SELECT id, source_kind, source FROM conversation
WHERE id IN (SELECT conversation FROM delivery WHERE is_in_lane = 1 AND state = 'queued') ORDER BY id;

-- name: newest_unknown
SELECT turn FROM delivery WHERE conversation = ? AND is_troubled = 1 AND state = 'unknown'
ORDER BY lane_seq DESC LIMIT 1;

-- name: queue_unknown
-- Its age counts from now: it was asked for now.
UPDATE delivery SET state = 'queued', is_in_lane = 1, is_troubled = 0, is_repeat = 1, queued = ?1, due = ?1,
    not_after = ?2, reason = ''
WHERE turn = ?3 AND conversation = ?4 AND state = 'unknown';

-- name: has_piece
SELECT EXISTS (SELECT 1 FROM delivery WHERE turn = ? AND piece = ?);

-- name: retry
-- The operator's word: an unknown one is shown again as a repeat.
UPDATE delivery SET is_repeat = CASE state WHEN 'unknown' THEN 1 ELSE is_repeat END, state = 'queued', is_in_lane = 1,
    is_troubled = 0, queued = ?1, due = ?1, not_after = ?2, reason = ''
WHERE lane_seq = ?3 AND EXISTS (SELECT 1 FROM turn t WHERE t.n = delivery.turn AND t.id = ?4)
    AND state IN ('unknown', 'dead', 'rejected') RETURNING conversation;

-- name: discard
-- The operator's word: not one that is being attempted, nor one that was shown.
UPDATE delivery SET state = 'discarded', is_in_lane = 0, is_troubled = 1, reason = 'discarded by the operator'
WHERE lane_seq = ? AND EXISTS (SELECT 1 FROM turn t WHERE t.n = delivery.turn AND t.id = ?)
    AND state IN ('queued', 'unknown', 'dead', 'rejected', 'waiting_for_user') RETURNING conversation;

-- name: settle_shown
-- Only the attempt that is under way can be settled: not one that was settled, or taken away from its sender.
UPDATE delivery SET state = 'delivered', is_in_lane = 0, shown = ?
WHERE lane_seq = ? AND turn = ? AND state = 'attempting' AND attempts = ?;

-- name: settle_otherwise
UPDATE delivery SET state = ?, is_in_lane = ?, is_troubled = ?, reason = ?, due = coalesce(?, due), shown = ?,
    is_repeat = max(is_repeat, ?)
WHERE lane_seq = ? AND turn = ? AND state = 'attempting' AND attempts = ?;

-- name: place_in_piece
SELECT turn, piece, revision, part FROM delivery WHERE lane_seq = ?;
