-- Whom the people of a conversation chose by /agents; '' leaves it to the account's routes.

ALTER TABLE session ADD COLUMN chosen TEXT NOT NULL DEFAULT '';
