-- The first schema: everything of the line from an update to what was shown of its answer.
--
-- Order is identity where it can be: seq (of envelopes, over all sessions), and with it the keys of threads and turns
-- (the seq of their first envelope), and lane_seq (of deliveries, over all lanes) are rowids given by the one writer, so
-- rows are appended, and look-ups and joins compare integers. Outside, ids are text: a thread and a turn are named by
-- their first envelope, "<envelope id>-<n>", a delivery "<turn id>-<lane_seq>". Times are UTC seconds since the Unix
-- epoch. JSON stands in text columns.
--
-- What a message costs is mostly the number of trees its rows touch. So partial indexes hold only what is alive or in
-- trouble, each behind a flag of its own (is_active, is_in_lane, is_troubled) that an ordinary step leaves alone; what
-- ended in the ordinary way is counted as the rest. An envelope is not rewritten when a turn takes it: the turn's
-- range of seqs says which it took. A turn has one submission, with the message id "fd-<turn id>", and a piece has no
-- row beside those of its parts; both stand here as views.
--
-- Not here until something uses it, with its place: reply_window (beside delivery), approval (beside thread),
-- served_task with its push configurations (beside remote_task, never shared with it), address_grant (a handle on a
-- conversation), tool_call (beside turn), thread.parent, thread.lifetime and thread.deadline, envelope.hops and
-- envelope.caused_by.

CREATE TABLE person (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    role TEXT NOT NULL DEFAULT 'user',
    language TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE identity (
    source TEXT NOT NULL,
    vendor_user TEXT NOT NULL,
    person TEXT NOT NULL,
    PRIMARY KEY (source, vendor_user)
) WITHOUT ROWID;

-- Everything else points to conversation.id, so a chat that gets a new id is one update and every address follows.
CREATE TABLE conversation (
    id TEXT PRIMARY KEY,
    source_kind TEXT NOT NULL,
    source TEXT NOT NULL,
    vendor_chat TEXT NOT NULL,
    topic TEXT NOT NULL,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,              -- its front desk
    is_direct INTEGER NOT NULL,
    merged_into TEXT NOT NULL DEFAULT '', -- the conversation that took its place when the chat moved onto a known one
    UNIQUE (source, vendor_chat, topic)
) WITHOUT ROWID;

CREATE TABLE chat_alias (
    source TEXT NOT NULL,
    old_chat TEXT NOT NULL,
    new_chat TEXT NOT NULL,
    PRIMARY KEY (source, old_chat)
) WITHOUT ROWID;

-- Updates exactly as they came, admitted or not. Strangers' rows have no owner.
CREATE TABLE raw_inbound (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    external_id TEXT NOT NULL,
    received REAL NOT NULL,
    outcome TEXT NOT NULL,              -- admitted, moved, unreadable, or why it was refused
    error TEXT NOT NULL,
    raw BLOB NOT NULL
);
CREATE INDEX raw_not_admitted ON raw_inbound (outcome) WHERE outcome <> 'admitted';

CREATE TABLE dedupe (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    envelope TEXT NOT NULL,             -- '' when the first one was not admitted
    expires REAL NOT NULL,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    conversation TEXT NOT NULL,
    kind TEXT NOT NULL,                 -- front_desk
    agent TEXT NOT NULL,
    generation INTEGER NOT NULL DEFAULT 1, -- /new raises it
    created REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE remote_context (
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    generation INTEGER NOT NULL,
    context_id TEXT NOT NULL,
    PRIMARY KEY (session, agent, generation)
) WITHOUT ROWID;

CREATE TABLE thread (
    n INTEGER PRIMARY KEY,              -- seq of its first envelope
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    conversation TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    state TEXT NOT NULL,
    is_active INTEGER NOT NULL DEFAULT 1, -- queued, running or waiting
    is_desk INTEGER NOT NULL DEFAULT 0,
    is_foreground INTEGER NOT NULL DEFAULT 0, -- of the active ones that have it, the newest counts
    taken INTEGER NOT NULL DEFAULT 0,   -- seq up to which its envelopes left the queue
    turn INTEGER NOT NULL DEFAULT 0,    -- its newest turn
    resume INTEGER NOT NULL DEFAULT 0,  -- an ended turn to be begun again instead of a new one
    wake_kind TEXT NOT NULL DEFAULT '', -- input, task; while waiting
    wake_key TEXT NOT NULL DEFAULT '',
    task_id TEXT NOT NULL DEFAULT '',   -- the interrupted task that its next turn continues
    asks TEXT NOT NULL DEFAULT ''       -- the person its open question addresses, until an answer is begun
);
CREATE INDEX thread_active ON thread (conversation) WHERE is_active = 1;
CREATE UNIQUE INDEX thread_wake ON thread (wake_kind, wake_key) WHERE wake_key <> '';

CREATE TABLE envelope (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    conversation TEXT NOT NULL,
    owner TEXT NOT NULL,
    thread INTEGER NOT NULL,            -- 0 for history only
    state TEXT NOT NULL,                -- queued (taken, once its thread took it), dropped, history
    person TEXT NOT NULL,
    message_kind TEXT NOT NULL DEFAULT 'forward',
    context_scope TEXT NOT NULL,
    command TEXT NOT NULL,
    parts TEXT NOT NULL,                -- JSON
    external_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    reply_to TEXT NOT NULL,
    is_forward INTEGER NOT NULL,
    received REAL NOT NULL,
    raw INTEGER NOT NULL                -- raw_inbound
);
CREATE INDEX envelope_thread ON envelope (thread);
CREATE INDEX envelope_message ON envelope (conversation, message_id);
CREATE INDEX envelope_aside ON envelope (state) WHERE state <> 'queued';

CREATE TABLE turn (
    n INTEGER PRIMARY KEY,              -- seq of its first envelope: it took its thread's queued envelopes from here
    last_seq INTEGER NOT NULL,          -- to here
    id TEXT NOT NULL,
    thread INTEGER NOT NULL,
    session TEXT NOT NULL,
    conversation TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    state TEXT NOT NULL,
    is_desk INTEGER NOT NULL,
    is_troubled INTEGER NOT NULL DEFAULT 0, -- ended other than completed, or its submission is unknown or rejected
    revision INTEGER NOT NULL DEFAULT 0,
    submission TEXT NOT NULL,           -- intended, submitted, submission_unknown, rejected; '' for the desk
    asked INTEGER NOT NULL DEFAULT 1,
    generation INTEGER NOT NULL,        -- of the remote context it was begun in
    context_id TEXT,
    continues TEXT,                     -- the interrupted task that it answers
    task_id TEXT,                       -- the task it is about, once the agent named it
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    preview TEXT NOT NULL DEFAULT '',   -- the channel's id of what it shows of the unfinished answer
    question TEXT NOT NULL,             -- message_id of its last envelope: what an answer quotes
    language TEXT NOT NULL,
    begun REAL NOT NULL,
    ended REAL,
    reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX turn_thread ON turn (thread);
CREATE INDEX turn_desk ON turn (is_desk) WHERE is_desk = 1;
CREATE INDEX turn_troubled ON turn (conversation) WHERE is_troubled = 1;

CREATE VIEW turn_envelope AS
SELECT t.n AS turn, e.seq AS envelope
FROM turn t JOIN envelope e ON e.thread = t.thread AND e.seq BETWEEN t.n AND t.last_seq AND e.state = 'queued';

CREATE VIEW submission AS
SELECT 'fd-' || id AS message_id, n AS turn, agent, submission AS state, asked, begun AS stored
FROM turn WHERE is_desk = 0;

CREATE TABLE remote_task (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    task_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    turn INTEGER NOT NULL,              -- the newest turn that is about it
    state TEXT NOT NULL,                -- the agent's own word
    state_time REAL,
    heard REAL NOT NULL,
    disposition TEXT NOT NULL,
    unconfirmed INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    UNIQUE (agent, task_id)
);
CREATE INDEX remote_task_not_completed ON remote_task (state) WHERE state <> 'completed';

CREATE TABLE inbox (
    turn INTEGER NOT NULL,
    revision INTEGER NOT NULL,          -- of the turn, as the observation made it
    n INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    road TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    heard REAL NOT NULL,
    PRIMARY KEY (turn, revision, n)
) WITHOUT ROWID;

CREATE TABLE delivery (
    lane_seq INTEGER PRIMARY KEY,
    conversation TEXT NOT NULL,
    owner TEXT NOT NULL,
    turn INTEGER NOT NULL,
    piece TEXT NOT NULL,                -- its key
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    revision INTEGER NOT NULL,          -- of the piece
    digest BLOB NOT NULL,               -- of the piece's words: equal words make no new revision
    op TEXT NOT NULL,
    state TEXT NOT NULL,
    is_in_lane INTEGER NOT NULL DEFAULT 1, -- queued or attempting
    is_troubled INTEGER NOT NULL DEFAULT 0, -- neither in its lane nor delivered
    payload TEXT NOT NULL,              -- JSON, rendered before the first part is sent
    queued REAL NOT NULL,
    due REAL NOT NULL,
    not_after REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    attempted REAL,                     -- when the newest attempt began, stored before its first byte
    is_repeat INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    shown TEXT NOT NULL DEFAULT '[]',   -- JSON: the channel's ids
    UNIQUE (turn, piece, part, revision)
);
CREATE INDEX delivery_lane ON delivery (conversation) WHERE is_in_lane = 1;
CREATE INDEX delivery_troubled ON delivery (conversation, state) WHERE is_troubled = 1;

CREATE VIEW piece AS
SELECT turn, piece AS key, revision, digest, parts FROM delivery WHERE part = 0;

-- Attempts that have an outcome; the one under way stands in its delivery.
CREATE TABLE attempt (
    delivery INTEGER NOT NULL,          -- lane_seq
    n INTEGER NOT NULL,
    begun REAL,
    ended REAL NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (delivery, n)
) WITHOUT ROWID;

CREATE TABLE receipt (
    conversation TEXT NOT NULL,
    vendor_message_id TEXT NOT NULL,
    delivery INTEGER NOT NULL,          -- lane_seq
    PRIMARY KEY (conversation, vendor_message_id)
) WITHOUT ROWID;

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    fence INTEGER NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE plugin_state (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;
