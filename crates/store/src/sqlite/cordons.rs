//! Cordoned owners. They are few and change together, so the table is rewritten as a whole.

use hearth_core::Owner;
use rusqlite::params;

use crate::cordon::{Cordon, Cordons};
use crate::error::StoreError;

use super::SqliteStore;

impl Cordons for SqliteStore {
    fn cordons(&self) -> Result<Vec<Cordon>, StoreError> {
        self.database.read(|db| {
            let mut rows = db.prepare("SELECT owner, why, since, known, losses, until FROM cordons ORDER BY owner")?;
            let cordons = rows.query_map([], |row| {
                Ok(Cordon {
                    owner: Owner::new(row.get::<_, String>(0)?),
                    why: row.get(1)?,
                    since: count(row.get(2)?),
                    known: row.get::<_, String>(3)?.lines().map(str::to_owned).collect(),
                    losses: u32::try_from(row.get::<_, i64>(4)?).unwrap_or(u32::MAX),
                    until: row.get::<_, Option<i64>>(5)?.map(count),
                })
            })?;
            Ok(cordons.collect::<Result<_, _>>()?)
        })
    }

    fn keep_cordons(&self, all: &[Cordon]) -> Result<(), StoreError> {
        self.database.write(|db| {
            db.execute("DELETE FROM cordons", [])?;
            for Cordon { owner, why, since, known, losses, until } in all {
                db.execute(
                    "INSERT INTO cordons (owner, why, since, known, losses, until) VALUES (?, ?, ?, ?, ?, ?)",
                    params![owner.as_str(), why, kept(*since), known.join("\n"), losses, until.map(kept)],
                )?;
            }
            Ok(())
        })
    }
}

fn kept(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(kept: i64) -> u64 {
    u64::try_from(kept).unwrap_or(0)
}
