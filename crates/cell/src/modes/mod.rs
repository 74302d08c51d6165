//! The ways of running an app, as policies over the same workers: each says where a request finds its worker and what
//! becomes of the worker afterwards.

pub(crate) mod fresh;
pub(crate) mod roster;
pub(crate) mod shared;
pub(crate) mod tally;
pub(crate) mod warm;
