//! The client, scheme and host of a request that came through proxies.
//!
//! Some headers say things that only a proxy can know: `x-forwarded-*`, `forwarded`, `x-real-ip`. From a peer that is
//! no trusted proxy they are removed. From a trusted one:
//! - the client is the first address from the right of `x-forwarded-for` that is no trusted proxy itself; where there
//!   is no such header, of `forwarded`. What cannot be read ends the walk: the client is the last hop that could be;
//! - `x-forwarded-proto` and `x-forwarded-host` (or `forwarded`'s `proto` and `host`) decide the url's scheme and host.
//!   Of a list the last counts: the peer itself said it.
//!
//! `x-base` and `x-hearth-*` are Hearth's own, and removed from all requests.
//! A front gateway in another process ([`Trust::Hop`]) has done all of this, and its headers stay as they are.
//! Invariant: an app always gets exactly one `x-forwarded-for` (the client, one address) and one `x-forwarded-proto`,
//! both written here.

use std::net::{IpAddr, SocketAddr};

use hearth_core::{Cidr, Headers};

use crate::config::Scheme;
use crate::head::Head;
use crate::peer::{Peer, Trust, forwarded, is_proxy};
use crate::target::{compose, valid_authority};

/// The client's address. Also rewrites headers and url. Most requests have none of these headers, and pay for two that are
/// copied.
pub fn resolve_client(head: &mut Head, peer: &Peer, proxies: &[Cidr]) -> IpAddr {
    if peer.trust == Trust::Hop {
        return hop_client(&head.headers).unwrap_or(peer.address);
    }
    let (client, scheme) = if head.names_client { interpret(head, peer, proxies) } else { (peer.address, peer.scheme) };
    if client == peer.address && scheme == peer.scheme {
        head.headers.append(&peer.headers);
    } else {
        head.headers.append(&forwarded(client, scheme));
    }
    client
}

/// The client, as the front gateway has found it.
fn hop_client(headers: &Headers) -> Option<IpAddr> {
    std::str::from_utf8(headers.get("x-forwarded-for")?).ok()?.parse().ok()
}

/// A header that this file decides about; the name in any case.
pub fn names_client(name: &str) -> bool {
    let name = name.as_bytes();
    let begins = |start: &[u8]| name.len() > start.len() && name[..start.len()].eq_ignore_ascii_case(start);
    match name.len() {
        6 => name.eq_ignore_ascii_case(b"x-base"),
        9 => name.eq_ignore_ascii_case(b"forwarded") || name.eq_ignore_ascii_case(b"x-real-ip"),
        10.. if name[0] | 0x20 == b'x' => begins(b"x-forwarded-") || begins(b"x-hearth-"),
        _ => false,
    }
}

/// What a proxy claims about a request.
#[derive(Default)]
struct ForwardedClaim {
    client: Option<IpAddr>,
    scheme: Option<Scheme>,
    host: Option<String>,
}

#[cold]
fn interpret(head: &mut Head, peer: &Peer, proxies: &[Cidr]) -> (IpAddr, Scheme) {
    let claim = match peer.trust {
        Trust::Proxy => ForwardedClaim::read(&head.headers, peer.address, proxies),
        Trust::Hop | Trust::None => ForwardedClaim::default(),
    };
    let all = std::mem::take(&mut head.headers);
    head.headers = Headers::with_capacity(all.len() + 3, 1024);
    for (name, value) in all.iter() {
        match (&claim.host, name) {
            (Some(host), b"host") => head.headers.push(name, host.as_bytes()),
            _ if is_kept(name, peer.trust) => head.headers.push(name, value),
            _ => {}
        }
    }
    if claim.scheme.is_some() || claim.host.is_some() {
        head.url = rewrite(&head.url, claim.scheme, claim.host.as_deref());
    }
    (claim.client.unwrap_or(peer.address), claim.scheme.unwrap_or(peer.scheme))
}

/// Whether the app gets the header. Other headers of a trusted proxy (`x-forwarded-prefix`, say) are for the app.
fn is_kept(name: &[u8], trust: Trust) -> bool {
    match name {
        b"x-forwarded-for" | b"x-forwarded-proto" | b"x-forwarded-host" | b"forwarded" | b"x-real-ip" | b"x-base" => {
            false
        }
        name if name.starts_with(b"x-hearth-") => false,
        name if name.starts_with(b"x-forwarded-") => trust == Trust::Proxy,
        _ => true,
    }
}

fn rewrite(url: &str, scheme: Option<Scheme>, host: Option<&str>) -> String {
    let Some((old_scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (old_host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let old = if old_scheme == Scheme::Https.name() { Scheme::Https } else { Scheme::Http };
    compose(scheme.unwrap_or(old).prefix(), host.unwrap_or(old_host), path)
}

// === impl ForwardedClaim ===

impl ForwardedClaim {
    fn read(headers: &Headers, peer: IpAddr, proxies: &[Cidr]) -> Self {
        let listed = headers.contains("x-forwarded-for");
        let elements = Elements::new(headers);
        let client = if listed {
            let hops = rightmost_first(headers, "x-forwarded-for").map(address);
            walk(hops, peer, proxies)
        } else {
            walk(elements.rightmost_first().map(|element| element.get("for").and_then(address)), peer, proxies)
        };
        let nearest = elements.rightmost_first().next();
        let from_element = |key| nearest.as_ref().and_then(|element| element.get(key)).map(str::to_owned);
        let last = |name, key| {
            let value = rightmost_first(headers, name).next().map(str::to_owned);
            value.or_else(|| from_element(key))
        };
        let host = last("x-forwarded-host", "host").filter(|host| valid_authority(host.as_bytes()));
        let scheme = last("x-forwarded-proto", "proto").and_then(|text| Scheme::parse(&text));
        Self { client: Some(client), scheme, host }
    }
}

/// From the nearest hop outwards: the first that is no trusted proxy, or the last that could be read.
fn walk(hops: impl Iterator<Item = Option<IpAddr>>, peer: IpAddr, proxies: &[Cidr]) -> IpAddr {
    let mut last = peer;
    for hop in hops {
        let Some(hop) = hop else { break };
        last = hop;
        if !is_proxy(hop, proxies) {
            break;
        }
    }
    last
}

/// The members of a list that may be spread over several headers, the last first. What is no text is one empty member.
fn rightmost_first<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines: Vec<&str> = headers.get_all(name).map(|value| std::str::from_utf8(value).unwrap_or("")).collect();
    lines.into_iter().rev().flat_map(|line| line.rsplit(',')).map(str::trim)
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let parsed = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|both| both.ip()));
    parsed.map(|address| address.to_canonical())
}

/// The elements of `Forwarded` headers (RFC 7239).
struct Elements<'a>(Vec<Element<'a>>);

/// `for=192.0.2.1;proto=https`
#[derive(Clone)]
struct Element<'a>(&'a str);

impl<'a> Elements<'a> {
    fn new(headers: &'a Headers) -> Self {
        let mut all = Vec::new();
        for line in headers.get_all("forwarded") {
            split_unquoted(std::str::from_utf8(line).unwrap_or(""), b',').for_each(|part| all.push(Element(part)));
        }
        Self(all)
    }

    fn rightmost_first(&self) -> impl Iterator<Item = Element<'a>> {
        self.0.iter().rev().cloned()
    }
}

impl<'a> Element<'a> {
    /// The value of a pair, without its quotes. Escapes inside quotes are not undone: no address or host needs one.
    fn get(&self, key: &str) -> Option<&'a str> {
        split_unquoted(self.0, b';').find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            name.trim().eq_ignore_ascii_case(key).then_some(quoted.unwrap_or(value))
        })
    }
}

/// Splits at a separator outside of quotes.
fn split_unquoted(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        !quoted && c == char::from(separator)
    })
    .map(str::trim)
}

#[cfg(test)]
#[path = "forwarded/tests.rs"]
mod tests;
