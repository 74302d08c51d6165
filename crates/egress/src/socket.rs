//! What apps' sockets need: a plain connection to a host and a port, and the look-up of a name, under the same policy and with the same
//! checks as requests.

use std::net::IpAddr;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::Client;
use crate::error::FetchError;
use crate::target::Host;

impl Client {
    /// A plain connection to `host`, a name or an address without brackets. The name is looked up once, each address is checked
    /// against the policy, and only the allowed ones are dialled.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, FetchError> {
        self.connector().connect(&parsed(host)?, port).await
    }

    /// The addresses of a name that the policy allows a connection to: others would tell an app what an inner network looks like.
    pub async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, FetchError> {
        let connector = self.connector();
        let name = match parsed(host)? {
            Host::Address(address) => return Ok(vec![address]),
            Host::Name(name) => name,
        };
        connector.policy.look_up(&name)?;
        let limit = connector.shared.config.connect_timeout;
        let mut found = match timeout(limit, connector.look_up(&name)).await {
            Ok(Ok(found)) => found,
            Ok(Err(source)) => return Err(FetchError::Lookup { host: name.into(), source }),
            Err(_) => return Err(FetchError::ConnectTimedOut { host: name.into(), limit }),
        };
        let mut denied = None;
        found.retain(|address| match connector.policy.check_found(&name, *address) {
            Ok(()) => true,
            Err(reason) => {
                denied.get_or_insert(reason);
                false
            }
        });
        match denied {
            Some(denied) if found.is_empty() => Err(denied.into()),
            _ => Ok(found),
        }
    }
}

fn parsed(host: &str) -> Result<Host, FetchError> {
    Host::parse(host).map_err(|reason| FetchError::Url { url: host.to_owned(), reason })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use tokio::net::TcpListener;

    use super::*;
    use crate::config::Config;
    use crate::connect::{Addresses, Resolve};
    use hearth_egress_policy::EgressPolicy;

    /// Answers every name with these addresses.
    struct Everything(Vec<IpAddr>);

    impl Resolve for Everything {
        fn resolve<'a>(&'a self, _: &'a str) -> Addresses<'a> {
            Box::pin(async { Ok::<_, io::Error>(self.0.clone()) })
        }
    }

    fn client(policy: &str, addresses: &[&str]) -> Client {
        let mut config = Config::new(|_: &str, _: &str| None);
        config.dns = Arc::new(Everything(addresses.iter().map(|address| address.parse().unwrap()).collect()));
        config.build().unwrap().client(EgressPolicy::parse(policy).unwrap())
    }

    #[tokio::test]
    async fn every_spelling_of_an_inner_address_is_refused() {
        let public = client("public", &["127.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254"]);
        for host in [
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "64:ff9b::7f00:1",
            "169.254.169.254",
            "fd00:ec2::254",
            "10.0.0.1",
            "192.168.1.1",
            "localhost",
            "0177.0.0.1",
            "0x7f000001",
            "2130706433",
            "rebound.example",
            "metadata.google.internal.",
        ] {
            assert!(matches!(public.connect(host, 8080).await, Err(FetchError::Denied(_))), "{host}");
        }
        for wrong in ["", "a b", "[::1]", "fe80::1%lo", "::1%1", "user@host", "host:80", "a/b", "a\0b", "127.0.0.1:80"]
        {
            assert!(matches!(public.connect(wrong, 8080).await, Err(FetchError::Url { .. })), "{wrong:?}");
        }
    }

    #[tokio::test]
    async fn mail_is_refused_unless_its_port_is_named() {
        for policy in ["public", "all", "127.0.0.1"] {
            assert!(
                matches!(client(policy, &[]).connect("127.0.0.1", 25).await, Err(FetchError::Denied(_))),
                "{policy}"
            );
        }
    }

    #[tokio::test]
    async fn an_allowed_address_is_dialled_whatever_else_the_name_has() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = client("127.0.0.1", &["10.0.0.1", "127.0.0.1"]);
        let stream = client.connect("two.example", port).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
    }

    #[tokio::test]
    async fn names_are_looked_up_under_the_policy() {
        let found: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap()];
        assert_eq!(client("a.example:5432", &["127.0.0.1"]).look_up("A.example.").await.unwrap(), found);
        for policy in ["none", "b.example"] {
            let refused = client(policy, &["127.0.0.1"]).look_up("a.example").await;
            assert!(matches!(refused, Err(FetchError::Denied(_))), "{policy}");
        }
    }

    #[tokio::test]
    async fn inner_addresses_are_not_told_unless_they_may_be_reached() {
        let addresses = ["10.0.0.1", "1.1.1.1", "::ffff:192.168.0.1", "127.0.0.1"];
        let public: Vec<IpAddr> = vec!["1.1.1.1".parse().unwrap()];
        assert_eq!(client("public", &addresses).look_up("db.internal").await.unwrap(), public);
        let own: Vec<IpAddr> = vec!["10.0.0.1".parse().unwrap()];
        assert_eq!(client("10.0.0.0/8:5432", &addresses).look_up("db.internal").await.unwrap(), own);
        for policy in ["all", "db.internal:5432"] {
            assert_eq!(client(policy, &addresses).look_up("db.internal").await.unwrap().len(), 4, "{policy}");
        }
        let refused = client("public", &addresses[..1]).look_up("db.internal").await.unwrap_err();
        assert!(matches!(refused, FetchError::Denied(_)));
        assert!(!refused.to_string().contains("10.0.0.1"), "{refused}");
    }
}
