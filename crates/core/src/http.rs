//! An HTTP request on its way to an app, and the response on its way back.

use crate::body::Body;
use crate::headers::Headers;
use crate::ids::RequestId;

pub struct Request {
    pub id: RequestId,
    pub method: Method,
    /// Absolute: scheme, authority, path and query, as sent (not normalised).
    pub url: String,
    pub headers: Headers,
    pub body: Body,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// The reason phrase, where the app gave one.
    pub reason: Option<Box<str>>,
    pub headers: Headers,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Patch,
    Other(Box<str>),
}

impl Method {
    /// Methods are case-sensitive; any token is one.
    pub fn parse(token: &str) -> Self {
        match token {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            "PATCH" => Self::Patch,
            other => Self::Other(other.into()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Other(token) => token,
        }
    }
}
