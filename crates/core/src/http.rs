//! An HTTP request on its way to an app, and the response on its way back.

use std::net::IpAddr;

use crate::body::Body;
use crate::headers::Headers;
use crate::ids::RequestId;
use crate::websocket::SocketEnd;

pub struct Request {
    pub id: RequestId,
    pub method: Method,
    /// Absolute: scheme, authority, path and query. The authority is normalised, the rest is as it was sent.
    pub url: String,
    pub headers: Headers,
    pub body: Body,
    /// The client: the peer, or the client that a trusted proxy names. None for requests of the server itself.
    pub client: Option<IpAddr>,
}

/// The cookie of the admin API's pages. Browsers send it to every port of a host, so the gateway removes it from requests for apps.
pub const ADMIN_COOKIE: &str = "hearth_admin";

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// The reason phrase, where the app gave one.
    pub reason: Option<Box<str>>,
    pub headers: Headers,
    pub body: Body,
    /// The connection becomes a WebSocket, and this is its other end. The status is 101 then, and the body empty.
    pub websocket: Option<Box<SocketEnd>>,
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

impl Request {
    /// A request of the server itself: no client, no headers, no body.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            id: RequestId::next(),
            method: Method::Get,
            url: url.into(),
            headers: Headers::new(),
            body: Body::Empty,
            client: None,
        }
    }
}

impl Response {
    /// Without a reason phrase of its own.
    pub fn new(status: u16, headers: Headers, body: Body) -> Self {
        Self { status, reason: None, headers, body, websocket: None }
    }
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
