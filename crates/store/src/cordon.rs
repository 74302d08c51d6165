//! Cordoned owners: owners whose code crashed cells run in a cell of their own, also after a
//! restart of the server. Times are milliseconds since 1970.

use hearth_core::Owner;

use crate::error::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cordon {
    pub owner: Owner,
    /// The reason as text.
    pub why: String,
    pub since: u64,
    /// What the owner served at that time; the cordon is lifted when it has something else.
    pub known: Vec<String>,
    /// How often the owner's own cell exited in quick succession.
    pub losses: u32,
    /// Until then the owner's requests are refused.
    pub until: Option<u64>,
}

pub trait Cordons {
    /// All cordoned owners, ordered by name.
    fn cordons(&self) -> Result<Vec<Cordon>, StoreError>;

    /// Replaces the list of cordoned owners.
    fn keep_cordons(&self, all: &[Cordon]) -> Result<(), StoreError>;
}
