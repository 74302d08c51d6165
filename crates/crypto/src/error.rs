//! Why an operation failed, named as the DOMException that the app sees.

use openssl::error::ErrorStack;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CryptoError {
    /// "OperationError": the operation failed for a reason that depends on the operation.
    #[error("{0}")]
    Operation(String),
    /// "DataError": a key or a parameter does not have the form that the algorithm demands.
    #[error("{0}")]
    Data(String),
    /// "NotSupportedError": the algorithm or one of its parameters is not supported.
    #[error("{0}")]
    NotSupported(String),
    /// What Node's `crypto` says: OpenSSL's own texts, one error a line, or one of Node's codes and a message.
    #[error("{0}")]
    Node(String),
}

impl CryptoError {
    pub(crate) fn operation(message: impl Into<String>) -> Self {
        Self::Operation(message.into())
    }

    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self::Data(message.into())
    }

    /// The name of the DOMException.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Operation(_) | Self::Node(_) => "OperationError",
            Self::Data(_) => "DataError",
            Self::NotSupported(_) => "NotSupportedError",
        }
    }
}

/// What OpenSSL says of a failure is not for apps: its texts name its own files, and may tell paddings apart.
impl From<ErrorStack> for CryptoError {
    fn from(_: ErrorStack) -> Self {
        Self::operation("The operation failed")
    }
}
