-- Choices: the open questions that the desk offered the writer of a message.

-- name: question
-- What the person wrote that led to the question a thread asks.
SELECT e.parts FROM thread t JOIN turn_envelope v ON v.turn = t.turn JOIN envelope e ON e.seq = v.envelope
WHERE t.n = ? ORDER BY e.seq LIMIT 1;

-- name: offer
UPDATE thread SET offers = ? WHERE n = ?;

-- name: offers_to
-- Those to one person, the newest first: an old menu may still be clicked.
SELECT t.n, t.offers, t.is_chosen FROM thread t JOIN envelope e ON e.seq = t.n
WHERE t.conversation = ? AND t.offers <> '' AND e.person = ? ORDER BY t.n DESC LIMIT 20;

-- name: waiting_message
SELECT parts, attached, is_forward FROM envelope WHERE seq = ?;

-- name: choose_from
UPDATE thread SET is_chosen = 1 WHERE n = ?;

-- name: close_offers
UPDATE thread SET is_chosen = 1 WHERE conversation = ? AND offers <> '';

-- name: has_gone_on
-- Whether the person wrote anything since that was no command.
SELECT EXISTS (SELECT 1 FROM envelope WHERE conversation = ? AND seq > ? AND person = ? AND command = '' AND state <> 'history');

-- name: offered
SELECT offers FROM thread WHERE n = ? AND id = ?;
