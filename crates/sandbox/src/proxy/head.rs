//! Request heads that programs send to a proxy: `CONNECT host:port`, or a request for an absolute
//! `http://` URL. Anything unclear is refused, and the request line is rebuilt, never forwarded as
//! it came.

use super::registry::Registry;

pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyRequest {
    /// A tunnel to `host:port`.
    Tunnel { authority: String },
    /// A request, rewritten for its server.
    Request { authority: String, head: Vec<u8> },
    /// A request to a package registry that the proxy mirrors.
    Package(PackageRequest),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackageRequest {
    pub(super) registry: Registry,
    pub(super) method: String,
    /// As received.
    pub(super) path: String,
    pub(super) accept: String,
}

/// The length of the head, if all of it is there.
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// `head` ends with its empty line.
pub(super) fn parse(head: &[u8]) -> Result<ProxyRequest, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "the head is not UTF-8")?;
    let text = text.strip_suffix("\r\n\r\n").ok_or("the head has no end")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let words: Vec<_> = first.split(' ').collect();
    let &[method, target, version] = words.as_slice() else { return Err("the first line is no request") };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err("the version is not HTTP/1");
    }
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Err("the method is not valid");
    }
    if text.bytes().any(|b| b == b'\0')
        || lines.clone().any(|line| line.contains(['\r', '\n']))
        || first.contains(['\r', '\n'])
    {
        return Err("the head has a character that it may not have");
    }
    if method == "CONNECT" {
        return match target.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && !port.is_empty() => {
                Ok(ProxyRequest::Tunnel { authority: target.to_owned() })
            }
            _ => Err("CONNECT needs host:port"),
        };
    }
    let rest = target.strip_prefix("http://").ok_or("only http:// URLs can be asked for; use CONNECT for others")?;
    let split = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(split);
    if authority.contains('@') {
        return Err("the URL has a user in it");
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let mut accept = String::new();
    let mut out = format!("{method} {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n");
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
        let name = name.to_ascii_lowercase();
        if name.is_empty() || name.contains([' ', '\t']) {
            return Err("a header's name is not valid");
        }
        if name == "accept" {
            value.trim().clone_into(&mut accept);
        }
        // Meant for the proxy, or written above. An upgrade cannot follow on a connection that
        // closes.
        let dropped = matches!(name.as_str(), "host" | "connection" | "keep-alive" | "upgrade" | "te")
            || name.starts_with("proxy-");
        if !dropped {
            out.push_str(line);
            out.push_str("\r\n");
        }
    }
    out.push_str("\r\n");
    if let Some(registry) = Registry::named(authority) {
        let method = method.to_owned();
        return Ok(ProxyRequest::Package(PackageRequest { registry, method, path, accept }));
    }
    Ok(ProxyRequest::Request { authority: authority.to_owned(), head: out.into_bytes() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ProxyRequest, &'static str> {
        parse(text.as_bytes())
    }

    #[test]
    fn tunnels_and_requests_are_distinguished() {
        let tunnel = parsed("CONNECT pypi.org:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n");
        assert_eq!(tunnel, Ok(ProxyRequest::Tunnel { authority: "pypi.org:443".to_owned() }));
        let Ok(ProxyRequest::Request { authority, head }) = parsed(
            "GET http://a.example:81/x?y HTTP/1.1\r\nHost: evil\r\nProxy-Authorization: x\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n",
        ) else {
            panic!("it is a request");
        };
        assert_eq!(authority, "a.example:81");
        let head = String::from_utf8(head).unwrap();
        assert_eq!(head, "GET /x?y HTTP/1.1\r\nhost: a.example:81\r\nconnection: close\r\nAccept: */*\r\n\r\n");
    }

    #[test]
    fn registries_are_known_by_their_names_inside() {
        let request =
            parsed("GET http://pypi.hearth.internal/simple/a/ HTTP/1.1\r\naccept: text/html\r\n\r\n").unwrap();
        let package = PackageRequest {
            registry: Registry::Pypi,
            method: "GET".to_owned(),
            path: "/simple/a/".to_owned(),
            accept: "text/html".to_owned(),
        };
        assert_eq!(request, ProxyRequest::Package(package));
    }

    #[test]
    fn unclear_heads_are_refused() {
        for head in [
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "GET http://user@a/ HTTP/1.1\r\n\r\n",
            "GET  http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2\r\n\r\n",
            "CONNECT a HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nbroken\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n folded: x\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\na: b\nc: d\r\n\r\n",
            "GET http://a/\0 HTTP/1.1\r\n\r\n",
        ] {
            assert!(parsed(head).is_err(), "{head:?}");
        }
    }
}
