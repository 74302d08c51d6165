//! The base of file links: the address under which clients reach the HTTP server.

#[derive(Clone, Debug)]
pub struct LinkBase(String);

impl LinkBase {
    /// `http://127.0.0.1:8808`, for example.
    pub fn new(base: impl Into<String>) -> Self {
        Self(base.into())
    }

    pub(crate) fn link(&self, token: &str) -> String {
        format!("{}/files/{token}", self.0.trim_end_matches('/'))
    }
}
