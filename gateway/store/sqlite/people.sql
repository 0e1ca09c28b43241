-- People, and what their channels call them.

-- name: person
SELECT p.id, p.owner, p.language FROM identity i JOIN person p ON p.id = i.person
WHERE i.source = ? AND i.vendor_user = ?;

-- name: insert_person
INSERT INTO person (id, owner, language) VALUES (?, ?, ?);

-- name: insert_identity
INSERT INTO identity (source, vendor_user, person) VALUES (?, ?, ?);

-- name: update_language
UPDATE person SET language = ? WHERE id = ?;
