//! The execution modes, as policies over the same workers: each decides where a request finds its worker and what becomes of
//! the worker afterwards.

pub(crate) mod ephemeral;
pub(crate) mod oneshot;
pub(crate) mod pooled;
pub(crate) mod shared;
pub(crate) mod tally;
