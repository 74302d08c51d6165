//! Plain connections under a policy, for a proxy. The same look-up and the same checks as for requests.

use std::sync::Arc;

use tokio::net::TcpStream;

use crate::config::Shared;
use crate::connect::Connector;
use crate::connection::Stream;
use crate::error::FetchError;
use crate::target::Target;
use hearth_egress_policy::EgressPolicy;

/// Opens connections to what one policy allows.
pub struct Dialer {
    connector: Connector,
}

impl Dialer {
    pub(crate) fn new(shared: Arc<Shared>, policy: EgressPolicy) -> Self {
        Self { connector: Connector::new(shared, policy) }
    }

    /// A connection to `host:port`; without a port, to 80.
    pub async fn dial(&self, authority: &str) -> Result<TcpStream, FetchError> {
        let wrong = |reason| FetchError::Url { url: authority.to_owned(), reason };
        if authority.contains(['/', '?', '#', '@']) {
            return Err(wrong("it is no host and port"));
        }
        let target = Target::parse(&format!("http://{authority}/"))?;
        match self.connector.open(&target.origin).await? {
            Stream::Plain(stream) => Ok(stream),
            Stream::Tls(_) => Err(wrong("it is not plain")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::config::Config;

    #[tokio::test]
    async fn only_allowed_addresses_are_dialled() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let egress = Config::new(|_: &str, _: &str| None).build().unwrap();
        let dialer = egress.dialer(EgressPolicy::parse("127.0.0.1").unwrap());
        let stream = dialer.dial(&there.to_string()).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), there);
        for denied in ["127.0.0.2:80", "[::1]:80"] {
            assert!(matches!(dialer.dial(denied).await, Err(FetchError::Denied(_))), "{denied}");
        }
        for wrong in ["", "127.0.0.1/x", "user@127.0.0.1:80", "127.0.0.1:0", "127.0.0.1:80?", "a b:1"] {
            assert!(matches!(dialer.dial(wrong).await, Err(FetchError::Url { .. })), "{wrong}");
        }
        let closed = egress.dialer(EgressPolicy::parse("127.0.0.1").unwrap().within(&EgressPolicy::public()));
        assert!(matches!(closed.dial(&there.to_string()).await, Err(FetchError::Denied(_))));
    }
}
