//! Where links to files begin: the address under which the HTTP front is reached.

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
