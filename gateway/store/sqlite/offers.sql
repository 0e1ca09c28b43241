-- Choices: the open questions that the desk offered the writer of a message.

-- name: question
-- What the person wrote that led to the question a thread asks.
SELECT e.parts FROM thread t JOIN turn_envelope v ON v.turn = t.turn JOIN envelope e ON e.seq = v.envelope
WHERE t.n = ? ORDER BY e.seq LIMIT 1;

-- name: offer
UPDATE thread SET offers = ? WHERE n = ?;

-- name: newest_offer
-- To one person, with the message that waits for the choice.
SELECT t.n, t.offers, e.parts, e.attached, e.is_forward FROM thread t JOIN envelope e ON e.seq = t.n
WHERE t.conversation = ? AND t.offers <> '' AND e.person = ? ORDER BY t.n DESC LIMIT 1;

-- name: has_gone_on
-- Whether the person wrote anything since that was no command.
SELECT EXISTS (SELECT 1 FROM envelope WHERE conversation = ? AND seq > ? AND person = ? AND command = '' AND state <> 'history');

-- name: offered
SELECT offers FROM thread WHERE n = ? AND id = ?;
