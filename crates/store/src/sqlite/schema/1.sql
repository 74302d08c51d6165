-- Times are milliseconds since 1970, in UTC.

-- Uploaded versions. A row outlives a deletion (`current` is then NULL): numbers of revisions are never used again.
CREATE TABLE versions (
    app TEXT NOT NULL,
    version TEXT NOT NULL,
    last_revision INTEGER NOT NULL,
    current INTEGER,
    PRIMARY KEY (app, version)
) STRICT, WITHOUT ROWID;

-- Revisions that are kept. `id` is the order of uploads.
CREATE TABLE deployments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    app TEXT NOT NULL,
    version TEXT NOT NULL,
    revision INTEGER NOT NULL,
    owner TEXT NOT NULL,
    hash BLOB NOT NULL,
    folder TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    files INTEGER NOT NULL,
    -- The revision that was current when this one came: what a roll-back returns to.
    replaced INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (app, version, revision)
) STRICT;

-- What bare names mean and meant: of an app, the row with the highest `id` holds. `revision` is NULL for versions in
-- folders that the operator serves.
CREATE TABLE activations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    app TEXT NOT NULL,
    version TEXT NOT NULL,
    revision INTEGER,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX activations_of_app ON activations (app, id);

CREATE TABLE secrets (
    app TEXT NOT NULL,
    name TEXT NOT NULL,
    nonce BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (app, name)
) STRICT, WITHOUT ROWID;

-- Something known, encrypted with the key of the secrets: a wrong key is found before anything is encrypted with it.
CREATE TABLE key_mark (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    nonce BLOB NOT NULL,
    value BLOB NOT NULL
) STRICT;

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    app TEXT NOT NULL,
    label TEXT NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_of_app ON tokens (app, id);
