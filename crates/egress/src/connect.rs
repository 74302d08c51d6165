//! Opens a stream to a host: look-up, policy, dial, TLS.
//!
//! A name is looked up once; the policy checks each address that was found, and only the allowed ones are dialled, as addresses. A
//! DNS server that answers differently the next time (rebinding) therefore gains nothing.
//!
//! Dialling is a small form of "happy eyeballs" (RFC 8305): families alternate, the next address is tried when the one before
//! failed or has not answered for 250 ms, and the first stream wins.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::config::Shared;
use crate::connection::Stream;
use crate::error::FetchError;
use crate::target::{Host, Origin, Scheme};
use hearth_egress_policy::EgressPolicy;

/// How long an attempt runs before the next address is tried as well.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 16;

pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name.
pub trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a>;
}

/// `getaddrinfo` on tokio's blocking pool: honours the machine's hosts file and resolver settings.
#[derive(Clone, Copy, Debug)]
pub struct SystemDns;

impl Resolve for SystemDns {
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect()) })
    }
}

/// How one client opens connections.
pub(crate) struct Connector {
    pub(crate) shared: Arc<Shared>,
    pub(crate) policy: EgressPolicy,
    lookups: Arc<Semaphore>,
}

impl Connector {
    pub(crate) fn new(shared: Arc<Shared>, policy: EgressPolicy) -> Self {
        let lookups = Arc::new(Semaphore::new(shared.config.max_lookups.max(1)));
        Self { shared, policy, lookups }
    }

    pub(crate) async fn open(&self, origin: &Origin) -> Result<Stream, FetchError> {
        let limit = self.shared.config.connect_timeout;
        match timeout(limit, self.open_untimed(origin)).await {
            Ok(opened) => opened,
            Err(_) => Err(FetchError::ConnectTimedOut { host: origin.host.to_string(), limit }),
        }
    }

    /// A plain connection, for an app's socket.
    pub(crate) async fn connect(&self, host: &Host, port: u16) -> Result<TcpStream, FetchError> {
        let limit = self.shared.config.connect_timeout;
        match timeout(limit, self.connect_untimed(host, port)).await {
            Ok(connected) => connected,
            Err(_) => Err(FetchError::ConnectTimedOut { host: host.to_string(), limit }),
        }
    }

    async fn connect_untimed(&self, host: &Host, port: u16) -> Result<TcpStream, FetchError> {
        let addresses = self.allowed_addresses(host, port).await?;
        let stream = dial(addresses).await.map_err(|(address, source)| FetchError::Connect {
            host: host.to_string(),
            address,
            source,
        })?;
        // Heads and small bodies are sent at once, without waiting for more data.
        stream.set_nodelay(true).ok();
        Ok(stream)
    }

    async fn open_untimed(&self, origin: &Origin) -> Result<Stream, FetchError> {
        let stream = self.connect_untimed(&origin.host, origin.port).await?;
        match origin.scheme {
            Scheme::Http => Ok(Stream::Plain(stream)),
            Scheme::Https => match self.shared.tls.connect(&origin.host, stream).await {
                Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
                Err(source) => Err(FetchError::Tls { host: origin.host.to_string(), source }),
            },
        }
    }

    /// The addresses of the host that the policy allows; at least one.
    async fn allowed_addresses(&self, host: &Host, port: u16) -> Result<VecDeque<SocketAddr>, FetchError> {
        host.check(&self.policy, port)?;
        let name = match host {
            Host::Address(address) => return Ok([SocketAddr::new(*address, port)].into()),
            Host::Name(name) => name,
        };
        let found = self.look_up(name).await.map_err(|source| FetchError::Lookup { host: name.to_string(), source })?;
        let (mut allowed, mut denied) = (Vec::new(), None);
        for address in found {
            match self.policy.check(name, address, port) {
                Ok(()) => allowed.push(SocketAddr::new(address, port)),
                Err(reason) => denied = denied.or(Some(reason)),
            }
        }
        match denied {
            Some(denied) if allowed.is_empty() => Err(denied.into()),
            None if allowed.is_empty() => {
                let source = io::Error::new(io::ErrorKind::NotFound, "it has no address");
                Err(FetchError::Lookup { host: name.to_string(), source })
            }
            _ => Ok(alternate(allowed)),
        }
    }

    /// Looks a name up, in a task that outlives the request: a look-up that blocks a thread holds its permit until that thread is free
    /// again, so that an app cannot fill the blocking pool by cancelling requests.
    pub(crate) async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = self.lookups.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (dns, name) = (self.shared.config.dns.clone(), name.to_owned());
        let lookup = tokio::spawn(async move {
            let found = dns.resolve(&name).await;
            drop(permit);
            found
        });
        lookup.await.map_err(io::Error::other)?
    }
}

/// IPv6 and IPv4 alternately, each in its own order, beginning with the family that came first.
fn alternate(addresses: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let first_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (first, second): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv4() == first_is_v4);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut turns = VecDeque::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] || turns.len() >= MAX_ADDRESSES {
            return turns;
        }
        turns.extend(pair.into_iter().flatten());
    }
}

/// The first stream that opens, or the last failure. There is at least one address.
async fn dial(mut addresses: VecDeque<SocketAddr>) -> Result<TcpStream, (SocketAddr, io::Error)> {
    if let [address] = addresses.make_contiguous() {
        let address = *address;
        return TcpStream::connect(address).await.map_err(|error| (address, error));
    }
    let mut attempts = JoinSet::new();
    let mut failure = None;
    loop {
        let mut next_at = None;
        if let Some(address) = addresses.pop_front() {
            attempts.spawn(async move { (address, TcpStream::connect(address).await) });
            next_at = (!addresses.is_empty()).then(|| Instant::now() + ATTEMPT_DELAY);
        }
        let ended = match next_at {
            Some(at) => match timeout_at(at, attempts.join_next()).await {
                Ok(ended) => ended,
                Err(_) => continue,
            },
            None => attempts.join_next().await,
        };
        match ended {
            Some(Ok((_, Ok(stream)))) => return Ok(stream),
            Some(Ok((address, Err(error)))) => failure = Some((address, error)),
            Some(Err(_)) => {}
            None => {
                let nowhere = || (SocketAddr::from(([0, 0, 0, 0], 0)), io::ErrorKind::AddrNotAvailable.into());
                return Err(failure.unwrap_or_else(nowhere));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    #[test]
    fn families_alternate() {
        let ordered = |text: &str| {
            let addresses = text.split(' ').map(|a| SocketAddr::new(a.parse().unwrap(), 1)).collect();
            alternate(addresses).iter().map(|a| a.ip().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered("::1 ::2 ::3 1.1.1.1 2.2.2.2"), "::1 1.1.1.1 ::2 2.2.2.2 ::3");
        assert_eq!(ordered("1.1.1.1 ::1 2.2.2.2"), "1.1.1.1 ::1 2.2.2.2");
        assert_eq!(ordered("1.1.1.1"), "1.1.1.1");
        let many = vec!["1.1.1.1"; 100].join(" ");
        assert_eq!(ordered(&many).split(' ').count(), MAX_ADDRESSES);
    }

    #[tokio::test]
    async fn a_dead_address_is_skipped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        // Bound, so that no other socket gets the port, and not listening.
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let dead = bound.local_addr().unwrap();
        let stream = dial([dead, dead, open].into()).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open);
        let (address, error) = dial([dead, dead].into()).await.unwrap_err();
        assert_eq!((address, error.kind()), (dead, io::ErrorKind::ConnectionRefused));
    }
}
