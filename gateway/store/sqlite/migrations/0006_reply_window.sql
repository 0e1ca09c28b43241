-- A pending request an answer may ride on: one for each envelope that came with one, and its one answer.

CREATE TABLE reply_window (
    envelope TEXT PRIMARY KEY,
    conversation TEXT NOT NULL,
    until REAL NOT NULL,                -- when its sender stops asking
    delivery INTEGER,                   -- lane_seq of the delivery it carries; NULL for none, and for the channel's own words
    answer TEXT,                        -- as the channel's plugin made it; NULL: open
    was_asked INTEGER NOT NULL DEFAULT 0 -- a request was pending when the answer was taken
) WITHOUT ROWID;
CREATE INDEX reply_window_delivery ON reply_window (delivery) WHERE delivery IS NOT NULL;
CREATE INDEX reply_window_until ON reply_window (until);
