-- Reply windows: one for each envelope that came with one, answered once.

-- name: insert_window
INSERT INTO reply_window (envelope, conversation, until) VALUES (?, ?, ?);

-- name: window
SELECT conversation, until, answer, was_asked FROM reply_window WHERE envelope = ?;

-- name: ride
-- A row count of 0 means that it has an answer already.
UPDATE reply_window SET answer = ?, delivery = ?, was_asked = ? WHERE envelope = ? AND answer IS NULL;

-- name: unride
UPDATE reply_window SET answer = NULL, delivery = NULL, was_asked = 0 WHERE envelope = ? AND delivery = ?;

-- name: window_of_delivery
SELECT envelope FROM reply_window WHERE delivery = ? ORDER BY until DESC LIMIT 1;

-- name: drop_windows
-- Those whose senders have long stopped asking, a few at a time.
DELETE FROM reply_window WHERE envelope IN (SELECT envelope FROM reply_window WHERE until < ? ORDER BY until LIMIT ?);
