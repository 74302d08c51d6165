//! Why a request for a file gets none.

use std::io;

use hearth_core::{Failure, Method};

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Not there, not to be seen, or no path at all: whoever asks cannot tell which.
    #[error("there is no such file")]
    NotFound,
    #[error("{} is not possible here: use {allow}", method.as_str())]
    Method { method: Method, allow: &'static str },
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It was another file each time it was looked at.
    #[error("the file is being changed")]
    Changing,
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotFound => Self::NotFound,
            Refused::Method { method, allow } => Self::MethodNotAllowed { method: method.as_str().to_owned(), allow },
            Refused::Unreadable(_) => Self::Internal { message: refused.to_string() },
            Refused::Changing => Self::Capacity { reason: "the file is being changed" },
        }
    }
}
