//! Errors of a request for a file.

use std::io;

use hearth_core::{Failure, Method};

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Missing, hidden, or not a valid path: the client cannot tell which.
    #[error("there is no such file")]
    NotFound,
    #[error("{} is not possible here: use {allow}", method.as_str())]
    Method { method: Method, allow: &'static str },
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The file changed between each lookup and opening.
    #[error("the file is being changed")]
    Changing,
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NotFound => Self::NotFound,
            FileError::Method { method, allow } => Self::MethodNotAllowed { method: method.as_str().to_owned(), allow },
            FileError::Unreadable(_) => Self::Internal { message: error.to_string() },
            FileError::Changing => Self::Capacity { reason: "the file is being changed" },
        }
    }
}
