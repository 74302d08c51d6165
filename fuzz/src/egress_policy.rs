//! A policy as people write it: read, printed, and asked about hosts and addresses.
//!
//! - What a policy prints is read as the same policy; case and separators do not matter.
//! - It allows what a second, plain reading of its text allows, and nothing else.
//! - What an address is allowed for may be looked up.
//! - Under a ceiling, what both allow is allowed; the ceiling `all` takes nothing away, not even ports that it blocks itself.
//! - What an error or a denial proposes instead is a policy, and it does what was asked for.

use std::net::IpAddr;

use hearth_egress::{AddressKind, Denied, EgressPolicy, PolicyError};

const ADDRESSES: [&str; 9] = [
    "1.1.1.1",
    "10.0.0.5",
    "127.0.0.1",
    "169.254.169.254",
    "::1",
    "fd00::1",
    "::ffff:10.0.0.5",
    "64:ff9b::a00:5",
    "2606:4700::1111",
];
const CEILINGS: [&str; 4] = ["none", "all", "public", "10.0.0.0/8,example.com:25,*.internal"];
/// Entries whose own hosts, addresses and ports are tried.
const TRIED: usize = 4;

/// A connection that an app asks for.
#[derive(Debug)]
struct Probe {
    host: String,
    address: IpAddr,
    port: u16,
}

/// An entry of a list, as the plain reader takes it apart.
struct Entry<'a> {
    host: &'a str,
    port: Option<u16>,
}

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let policy = match EgressPolicy::parse(&text) {
        Ok(policy) => policy,
        Err(error) => return refused(&error),
    };
    let printed = policy.to_string();
    assert_eq!(printed.parse().as_ref(), Ok(&policy), "prints {printed:?}");
    assert_eq!(EgressPolicy::parse(&text.to_ascii_uppercase()).as_ref(), Ok(&policy));
    assert_eq!(EgressPolicy::parse(&format!(" ,{}\t,", text.replace(',', " \n,"))).as_ref(), Ok(&policy));
    assert_eq!(policy.within(&policy), policy);
    assert_eq!(policy.within(&EgressPolicy::all()), policy);
    let ceilings = CEILINGS.map(|text| EgressPolicy::parse(text).expect("ceilings are policies"));
    let both = ceilings.each_ref().map(|ceiling| policy.within(ceiling));
    for probe in probes(&printed) {
        let answer = ask(&policy, &probe);
        assert_eq!(answer.is_ok(), printed.split(',').any(|entry| allows(entry, &probe)), "{printed:?}, {probe:?}");
        for (ceiling, both) in ceilings.iter().zip(&both) {
            let expected = answer.is_ok() && (*ceiling == EgressPolicy::all() || ask(ceiling, &probe).is_ok());
            assert_eq!(ask(both, &probe).is_ok(), expected, "{both}, {probe:?}");
        }
        if let Err(denied) = answer {
            works(&denied, &probe);
        }
    }
}

/// Both questions, as for a request: to the look-up, to the address.
fn ask(policy: &EgressPolicy, probe: &Probe) -> Result<(), Denied> {
    let Probe { host, address, port } = probe;
    let (before, after) = (policy.before_lookup(host, *port), policy.check(host, *address, *port));
    assert!(before.is_ok() || after.is_err(), "{policy} allows {probe:?}, but not to look it up");
    if host.parse::<IpAddr>().is_err() {
        let other = format!("{}.", host.to_ascii_uppercase());
        assert_eq!(policy.check(&other, *address, *port).is_ok(), after.is_ok(), "{policy}: {probe:?}");
    }
    before.and(after)
}

/// What an error proposes is a policy.
fn refused(error: &PolicyError) {
    if let PolicyError::Entry { reason, .. } = error
        && let Some((_, proposed)) = reason.split_once("is written ")
    {
        assert!(EgressPolicy::parse(proposed).is_ok(), "{error}");
    }
}

/// What a denial proposes is a policy that allows what was denied.
fn works(denied: &Denied, probe: &Probe) {
    let text = denied.to_string();
    let proposed = text.rsplit('"').nth(1).expect("a denial ends with a proposal");
    let policy = EgressPolicy::parse(proposed).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(ask(&policy, probe).is_ok(), "{text}");
}

// === Probes ===

fn probes(printed: &str) -> Vec<Probe> {
    let mut hosts = vec!["example.com".to_owned(), "api.internal".to_owned()];
    let mut addresses = ADDRESSES.map(|text| text.parse().expect("these are addresses")).to_vec();
    let mut ports = vec![443, 25];
    for entry in printed.split(',').take(TRIED).map(Entry::new) {
        ports.extend(entry.port);
        if let Some((first, _)) = entry.range() {
            assert_eq!(first, first.to_canonical(), "an IPv4 range in another form: {printed}");
            addresses.push(first);
            continue;
        }
        let name = entry.host.trim_start_matches("*.");
        // Words that are policies name no host in a list, and longer names than these are none with a label before them.
        if !["none", "public", "all"].contains(&name) && name.len() < 200 {
            hosts.extend([name.to_owned(), format!("sub.{name}"), format!("not{name}")]);
        }
    }
    hosts.retain(|host| host.split('.').all(|label| label.len() < 64));
    let mut probes = Vec::new();
    for (at, address) in addresses.iter().enumerate() {
        // Not every host at every address: some, and the address itself.
        let some = hosts.iter().skip(at % 4).step_by(4).cloned();
        for host in some.chain([address.to_canonical().to_string()]) {
            probes.extend(ports.iter().map(|port| Probe { host: host.clone(), address: *address, port: *port }));
        }
    }
    probes
}

// === The plain reader ===

fn allows(entry: &str, probe: &Probe) -> bool {
    let open = EgressPolicy::all().before_lookup("x", probe.port).is_ok();
    match entry {
        "none" => return false,
        "all" => return open,
        "public" => return open && AddressKind::from_ip(probe.address) == AddressKind::Public,
        _ => {}
    }
    let entry = Entry::new(entry);
    let port = entry.port.map_or(open, |port| port == probe.port);
    let named = match (entry.range(), entry.host.strip_prefix('*')) {
        (Some((first, last)), _) => {
            let address = probe.address.to_canonical();
            address.is_ipv4() == first.is_ipv4() && first <= address && address <= last
        }
        (None, Some(suffix)) => probe.host.len() > suffix.len() && probe.host.ends_with(suffix),
        (None, None) => probe.host == entry.host,
    };
    port && named
}

impl<'a> Entry<'a> {
    fn new(text: &'a str) -> Self {
        let (host, port) = match (text.strip_prefix('['), text.matches(':').count()) {
            (Some(inside), _) => inside.split_once(']').expect("a [ has its ]"),
            (None, 1) => text.split_at(text.find(':').expect("there is one")),
            (None, _) => (text, ""),
        };
        let port = port.strip_prefix(':').map(|port| port.parse().expect("a port is a number"));
        Self { host, port }
    }

    /// The first and last address, where the entry is about addresses.
    fn range(&self) -> Option<(IpAddr, IpAddr)> {
        let (first, prefix) = match self.host.split_once('/') {
            Some((first, prefix)) => (first.parse().ok()?, Some(prefix.parse::<u32>().ok()?)),
            None => (self.host.parse::<IpAddr>().ok()?, None),
        };
        let last = match first {
            IpAddr::V4(v4) => {
                let rest = u32::MAX.checked_shr(prefix.unwrap_or(32)).unwrap_or(0);
                IpAddr::V4((v4.to_bits() | rest).into())
            }
            IpAddr::V6(v6) => {
                let rest = u128::MAX.checked_shr(prefix.unwrap_or(128)).unwrap_or(0);
                IpAddr::V6((v6.to_bits() | rest).into())
            }
        };
        Some((first, last))
    }
}
