//! Owners that are shut away in a cell of their own: who brought others down is not given a second chance to do so by a
//! restart of the server. Times are milliseconds since 1970.

use hearth_core::Owner;

use crate::error::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cordon {
    pub owner: Owner,
    /// A word of whoever shut it away.
    pub why: String,
    pub since: u64,
    /// What it served then: when it has something else, it gets another chance.
    pub known: Vec<String>,
    /// How often its own cell went down, one time soon after the other.
    pub losses: u32,
    /// Nobody is let in until then.
    pub until: Option<u64>,
}

pub trait Cordons {
    /// All who are shut away, in the order of their names.
    fn cordons(&self) -> Result<Vec<Cordon>, StoreError>;

    /// These are shut away from now on, and nobody else is.
    fn keep_cordons(&self, all: &[Cordon]) -> Result<(), StoreError>;
}
