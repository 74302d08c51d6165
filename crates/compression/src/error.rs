//! What went wrong, as Node says it.

/// A failure: `code` and `errno` are Node's, and so is the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CodecError {
    pub code: String,
    pub errno: i32,
    pub message: String,
}

const Z_NEED_DICT: i32 = 2;
const Z_STREAM_ERROR: i32 = -2;
const Z_DATA_ERROR: i32 = -3;
const Z_MEM_ERROR: i32 = -4;
const Z_BUF_ERROR: i32 = -5;

impl CodecError {
    pub(crate) fn new(code: &str, errno: i32, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), errno, message: message.into() }
    }

    /// The input ends too early.
    pub(crate) fn unexpected_end() -> Self {
        Self::new("Z_BUF_ERROR", Z_BUF_ERROR, "unexpected end of file")
    }

    pub(crate) fn need_dictionary(message: &str) -> Self {
        Self::new("Z_NEED_DICT", Z_NEED_DICT, message)
    }

    pub(crate) fn stream(message: &str) -> Self {
        Self::new("Z_STREAM_ERROR", Z_STREAM_ERROR, message)
    }

    pub(crate) fn data(message: &str) -> Self {
        Self::new("Z_DATA_ERROR", Z_DATA_ERROR, message)
    }

    pub(crate) fn memory() -> Self {
        Self::new("Z_MEM_ERROR", Z_MEM_ERROR, "not enough memory")
    }

    pub(crate) fn initialization() -> Self {
        Self::new("ERR_ZLIB_INITIALIZATION_FAILED", Z_STREAM_ERROR, "Initialization failed")
    }
}
