-- Conversations: who and where, and what happens when a chat gets a new id.

-- name: place_at
-- A conversation with its front-desk session, by where it is.
SELECT c.id, c.source_kind, c.source, c.vendor_chat, c.topic, c.owner, c.session, s.agent, s.generation, c.is_direct,
       c.merged_into, s.chosen, c.is_followed
FROM conversation c JOIN session s ON s.id = c.session
WHERE c.source = ? AND c.vendor_chat = ? AND c.topic = ?;

-- name: place
-- The same by its id.
SELECT c.id, c.source_kind, c.source, c.vendor_chat, c.topic, c.owner, c.session, s.agent, s.generation, c.is_direct,
       c.merged_into, s.chosen, c.is_followed
FROM conversation c JOIN session s ON s.id = c.session
WHERE c.id = ?;

-- name: waits_for_user
SELECT EXISTS (SELECT 1 FROM delivery WHERE conversation = ? AND is_troubled = 1 AND state = 'waiting_for_user');

-- name: newest_here
SELECT coalesce(max(seq), 0) FROM envelope WHERE conversation = ? AND context_scope <> 'notify';

-- name: aliases
SELECT old_chat, new_chat FROM chat_alias WHERE source = ?;

-- name: active_threads
-- The facts that core.router.pick_thread decides on.
SELECT id, state, is_foreground, asks, agent FROM thread
WHERE conversation = ? AND is_active = 1 AND is_desk = 0 ORDER BY n;

-- name: context
SELECT context_id FROM remote_context WHERE session = ? AND agent = ? AND generation = ?;

-- name: leave_foreground
-- Of one agent, or of all.
UPDATE thread SET is_foreground = 0
WHERE conversation = ?1 AND is_active = 1 AND is_foreground = 1 AND agent = coalesce(?2, agent);

-- name: conversations_of_chat
-- One for each topic.
SELECT id, topic FROM conversation WHERE source = ? AND vendor_chat = ? AND merged_into = '';

-- name: move_conversation
UPDATE conversation SET vendor_chat = ? WHERE id = ?;

-- name: drop_alias
-- A chat that has an id now cannot also be one that lost it.
DELETE FROM chat_alias WHERE source = ? AND old_chat = ?;

-- name: lead_aliases_on
-- Ids that led to the old one lead to the new one.
UPDATE chat_alias SET new_chat = ? WHERE source = ? AND new_chat = ?;

-- name: put_alias
INSERT INTO chat_alias (source, old_chat, new_chat) VALUES (?, ?, ?)
ON CONFLICT (source, old_chat) DO UPDATE SET new_chat = excluded.new_chat;

-- name: merge_threads
UPDATE thread SET (conversation, session, owner) = (SELECT id, session, owner FROM conversation WHERE id = :new)
WHERE session = (SELECT session FROM conversation WHERE id = :old);

-- name: merge_envelopes
UPDATE envelope SET (conversation, session, owner) = (SELECT id, session, owner FROM conversation WHERE id = :new)
WHERE session = (SELECT session FROM conversation WHERE id = :old);

-- name: merge_turns
UPDATE turn SET (conversation, session, owner) = (SELECT id, session, owner FROM conversation WHERE id = :new)
WHERE session = (SELECT session FROM conversation WHERE id = :old);

-- name: merge_deliveries
-- Lane order is by lane_seq over all conversations, so what was queued keeps its order among what is queued there.
UPDATE delivery SET (conversation, owner) = (SELECT id, owner FROM conversation WHERE id = :new)
WHERE conversation = :old;

-- name: merge_receipts
UPDATE OR REPLACE receipt SET conversation = :new WHERE conversation = :old;

-- name: merge_contexts
-- Where the new conversation has a remote context already, that one goes on.
UPDATE OR IGNORE remote_context SET session = (SELECT session FROM conversation WHERE id = :new)
WHERE session = (SELECT session FROM conversation WHERE id = :old);

-- name: drop_merged_session
DELETE FROM session WHERE id = (SELECT session FROM conversation WHERE id = :old);

-- name: merge_conversation
-- Also those that were merged into the old one before. Its place is free again: the chat may move back there.
UPDATE conversation
SET merged_into = :new, session = (SELECT session FROM conversation WHERE id = :new), vendor_chat = 'merged:' || id
WHERE id = :old OR merged_into = :old;

-- name: insert_conversation
INSERT INTO conversation (id, source_kind, source, vendor_chat, topic, owner, session, is_direct, is_followed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_session
INSERT INTO session (id, owner, conversation, kind, agent, created) VALUES (?, ?, ?, 'front_desk', ?, ?);
