-- Owners that are shut away in a cell of their own. `known` is what they served then, one identity a line; `losses` and
-- `until` are how often that cell went down, and how long nobody is let in.
CREATE TABLE cordons (
    owner TEXT PRIMARY KEY NOT NULL,
    why TEXT NOT NULL,
    since INTEGER NOT NULL,
    known TEXT NOT NULL,
    losses INTEGER NOT NULL,
    until INTEGER
) STRICT, WITHOUT ROWID;
