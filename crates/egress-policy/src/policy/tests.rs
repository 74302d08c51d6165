#![allow(clippy::unwrap_used)]

use super::*;

fn policy(text: &str) -> EgressPolicy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn allows(policy: &EgressPolicy, host: &str, address: &str, port: u16) -> bool {
    policy.before_lookup(host, port).is_ok() && policy.check(host, address.parse().unwrap(), port).is_ok()
}

#[test]
fn policies_allow_what_they_say() {
    for (text, host, address, port, allowed) in [
        ("none", "example.com", "1.1.1.1", 443, false),
        ("all", "metadata", "169.254.169.254", 80, true),
        ("all", "localhost", "::1", 8080, true),
        ("public", "example.com", "1.1.1.1", 443, true),
        ("public", "example.com", "127.0.0.1", 443, false),
        ("public", "example.com", "::ffff:127.0.0.1", 443, false),
        ("public", "example.com", "fe80::1", 443, false),
        ("public", "0177.0.0.1", "127.0.0.1", 80, false),
        ("PUBLIC", "example.com", "1.1.1.1", 443, true),
        // By name: any address, that port, no other name.
        ("example.com", "example.com", "10.0.0.1", 443, true),
        ("example.com", "EXAMPLE.com.", "10.0.0.1", 443, true),
        ("Example.COM.", "example.com", "10.0.0.1", 443, true),
        ("example.com", "www.example.com", "1.1.1.1", 443, false),
        ("example.com", "notexample.com", "1.1.1.1", 443, false),
        ("example.com", "example.com.evil.org", "1.1.1.1", 443, false),
        ("example.com:8080", "example.com", "1.1.1.1", 8080, true),
        ("example.com:8080", "example.com", "1.1.1.1", 443, false),
        ("*.example.com", "a.b.example.com", "1.1.1.1", 443, true),
        ("*.example.com", "example.com", "1.1.1.1", 443, false),
        ("*.example.com", ".example.com", "1.1.1.1", 443, false),
        ("*.example.com", "badexample.com", "1.1.1.1", 443, false),
        ("*.example.com:1", "a.example.com", "1.1.1.1", 443, false),
        ("my_db", "my_db", "10.0.0.1", 5432, true),
        // By address: any name, that port, no other address.
        ("10.0.0.0/8", "db.internal", "10.200.0.1", 5432, true),
        ("10.0.0.0/8", "db.internal", "11.0.0.1", 5432, false),
        ("10.0.0.0/8", "db.internal", "::ffff:10.0.0.1", 5432, true),
        ("10.0.0.0/8", "db.internal", "64:ff9b::10.0.0.1", 5432, false),
        ("10.0.0.0/8:5432", "db.internal", "10.0.0.1", 5432, true),
        ("10.0.0.0/8:5432", "db.internal", "10.0.0.1", 80, false),
        ("127.0.0.1:9000", "127.0.0.1", "127.0.0.1", 9000, true),
        ("127.0.0.1:9000", "localhost", "127.0.0.1", 9000, true),
        ("127.0.0.1:9000", "127.0.0.1", "127.0.0.1", 9001, false),
        ("127.0.0.1:9000", "127.0.0.2", "127.0.0.2", 9000, false),
        ("[::1]:8080", "::1", "::1", 8080, true),
        ("[::1]:8080", "::1", "::1", 80, false),
        ("::1", "::1", "::1", 80, true),
        ("[fd00::/8]:1", "x", "fd00::1", 1, true),
        ("fd00::/8", "x", "fd12::1", 443, true),
        ("::/0", "x", "::ffff:127.0.0.1", 443, false),
        // Mixed, and with other separators.
        ("public, 10.0.0.5", "db", "10.0.0.5", 443, true),
        ("public\n10.0.0.5", "example.com", "1.1.1.1", 443, true),
        ("public,10.0.0.5", "db", "10.0.0.6", 443, false),
        // Ports that Fetch blocks.
        ("all", "mail", "1.1.1.1", 25, false),
        ("public", "mail", "1.1.1.1", 25, false),
        ("mail", "mail", "1.1.1.1", 25, false),
        ("mail:25", "mail", "1.1.1.1", 25, true),
        ("1.1.1.1:25", "mail", "1.1.1.1", 25, true),
    ] {
        assert_eq!(allows(&policy(text), host, address, port), allowed, "{text}: {host} at {address}, port {port}");
    }
}

#[test]
fn a_name_that_cannot_be_allowed_is_not_looked_up() {
    for text in ["none", "example.org", "*.example.com", "10.0.0.0/8:81", "example.com:444"] {
        assert!(policy(text).before_lookup("example.com", 443).is_err(), "{text}");
    }
    for text in ["public", "10.0.0.0/8", "all", "example.com"] {
        assert!(policy(text).before_lookup("example.com", 443).is_ok(), "{text}");
    }
}

#[test]
fn a_ceiling_only_takes_away() {
    let own = policy("api.example.com,10.0.0.0/8");
    for (ceiling, host, address, allowed) in [
        ("all", "api.example.com", "10.0.0.1", true),
        ("public", "api.example.com", "1.1.1.1", true),
        ("public", "api.example.com", "10.0.0.1", false),
        ("none", "api.example.com", "1.1.1.1", false),
        ("*.example.com", "api.example.com", "127.0.0.1", true),
        ("*.example.com", "db", "10.0.0.1", false),
        ("public,10.1.0.0/16", "db", "10.1.0.1", true),
        ("public,10.1.0.0/16", "db", "10.2.0.1", false),
        ("public,10.1.0.0/16", "example.org", "1.1.1.1", false),
    ] {
        let both = own.within(&policy(ceiling));
        assert_eq!(allows(&both, host, address, 443), allowed, "{both}: {host} at {address}");
    }
    assert_eq!(own.within(&EgressPolicy::all()), own);
    assert_eq!(own.within(&own), own);
    assert_eq!(own.within(&EgressPolicy::public()).to_string(), "api.example.com,10.0.0.0/8 within public");
}

#[test]
fn a_denial_names_host_rule_and_remedy() {
    let message = |text: &str, host: &str, address: &str, port| {
        let policy = policy(text);
        let denied = policy.before_lookup(host, port).and_then(|()| policy.check(host, address.parse().unwrap(), port));
        denied.unwrap_err().to_string()
    };
    assert_eq!(
        message("public", "metadata.internal", "169.254.169.254", 80),
        "egress to metadata.internal (port 80) is denied by the policy \"public\": it resolves to 169.254.169.254, \
         a link-local address; to allow it, set the app's egress setting to \"public,metadata.internal\""
    );
    assert_eq!(
        message("none", "::1", "::1", 80),
        "egress to ::1 (port 80) is denied by the policy \"none\": it allows no network at all; \
         to allow it, set the app's egress setting to \"[::1]\""
    );
    assert!(message("a.example", "b.example", "1.1.1.1", 80).contains("it is not listed"));
    assert!(message("public", "10.0.0.1", "10.0.0.1", 80).contains("it is a private address"));
    assert!(message("public", "example.com", "1.1.1.1", 25).contains("to \"public,example.com:25\""));
    let ceiling = policy("all").within(&policy("public"));
    let denied = ceiling.check("db", "10.0.0.1".parse().unwrap(), 80).unwrap_err();
    assert!(denied.to_string().contains("the operator's egress ceiling (--egress) to \"public,db\""), "{denied}");
}

/// What a denial proposes is a policy, and it allows what was denied.
#[test]
fn the_proposed_setting_works() {
    for (text, host, address, port) in [
        ("public", "db.internal", "10.0.0.1", 5432),
        ("none", "::1", "::1", 80),
        ("all", "mail.example", "1.1.1.1", 25),
        ("public,[::1]:8080", "::1", "::1", 25),
        ("example.com", "127.0.0.1", "127.0.0.1", 9000),
    ] {
        let denied = policy(text).check(host, address.parse().unwrap(), port).unwrap_err().to_string();
        let proposed = denied.rsplit('"').nth(1).unwrap();
        assert!(allows(&policy(proposed), host, address, port), "{denied}");
    }
}

#[test]
fn what_could_be_misread_is_an_error() {
    for (text, hint) in [
        ("", "is empty"),
        (" , ,", "is empty"),
        ("none,example.com", "\"none\" cannot stand in an egress list"),
        ("example.com all", "\"all\" cannot stand in an egress list"),
        ("all,all", "\"all\" cannot stand"),
        ("https://example.com", "looks like a URL"),
        ("example.com/path", "before the / there must be an address"),
        ("*", "write all"),
        ("*:80", "write all"),
        ("a.*.com", "first label"),
        ("*.*.com", "first label"),
        ("*example.com", "first label"),
        ("*.", "neither"),
        ("bücher.example", "ASCII form"),
        ("10.1.2.3/8", "written 10.0.0.0/8"),
        ("::ffff:10.1.0.0/104", "written 10.0.0.0/8"),
        ("fd00::1/8", "written fd00::/8"),
        ("10.0.0.0/33", "only 32 bits"),
        ("fd00::/129", "only 128 bits"),
        ("10.0.0.0/", "number of bits"),
        ("10.0.0.0/+8", "number of bits"),
        ("10.0.0.0/8/8", "number of bits"),
        ("0177.0.0.1", "looks like an address"),
        ("127.1", "looks like an address"),
        ("2130706433", "looks like an address"),
        ("0x7f.0.0.0x1", "looks like an address"),
        ("10.0.0.256", "looks like an address"),
        ("example.com:0", "a port from 1 to 65535"),
        ("example.com:65536", "a port from 1 to 65535"),
        ("example.com:", "a port from 1 to 65535"),
        ("example.com:http", "a port from 1 to 65535"),
        ("[::1", "has no ]"),
        ("[fe80::1:80", "has no ]"),
        ("public:443", "a policy of its own"),
        ("none.", "a policy of its own"),
        ("[::1]x", "has no ]"),
        ("[example.com]", "no IPv6 address"),
        ("[10.0.0.1]", "no IPv6 address"),
        ("fe80::1%eth0", "a port from 1"),
        ("[fe80::1%eth0]:80", "no IPv6 address"),
        ("a..b", "neither"),
        ("-a b@c", "neither"),
        ("user@example.com", "neither"),
    ] {
        let error = text.parse::<EgressPolicy>().expect_err(text).to_string();
        assert!(error.contains(hint), "{text}: {error}");
    }
    let long = format!("{}.example", "a".repeat(64));
    assert!(long.parse::<EgressPolicy>().is_err());
}

#[test]
fn a_policy_prints_what_it_parses() {
    for (text, printed) in [
        ("None", "none"),
        ("ALL", "all"),
        ("10.0.0.5 Example.com.,public", "public,example.com,10.0.0.5"),
        ("[::1]:80,::1,::1", "[::1]:80,::1"),
        ("::ffff:10.0.0.0/104:8", "::ffff:10.0.0.0/104:8"),
        ("[::ffff:10.0.0.0/104]:8", "10.0.0.0/8:8"),
        ("*.a.b:1,a.b,a.b", "*.a.b:1,a.b"),
    ] {
        match text.parse::<EgressPolicy>() {
            Ok(policy) => assert_eq!(policy.to_string(), printed),
            Err(error) => assert!(text == printed, "{text}: {error}"),
        }
    }
}

/// No input makes the parser panic, what it accepts prints as what it accepts again, and only `all` and what names them
/// reach the metadata service.
#[test]
fn random_policies_hold() {
    const PIECES: [&str; 40] = [
        "public",
        "none",
        "all",
        ",",
        " ",
        ",",
        ":",
        "::",
        "[",
        "]",
        "/",
        "/8",
        "/0",
        "/128",
        ".",
        "*",
        "*.",
        "a",
        "b.c",
        "example.com",
        "xn--a",
        "_",
        "-",
        "10.0.0.0",
        "127.0.0.1",
        "fd00::",
        "::1",
        "::ffff:",
        "fe80",
        "80",
        "65535",
        "0",
        "00",
        "0x",
        "ü",
        "%",
        "\0",
        "://",
        "@",
        "\n",
    ];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 33) as usize % bound
    };
    let mut accepted = 0;
    for _ in 0..100_000 {
        let text: String = (0..=next(6)).map(|_| PIECES[next(PIECES.len())]).collect();
        let Ok(policy) = text.parse::<EgressPolicy>() else { continue };
        accepted += 1;
        let printed = policy.to_string();
        assert_eq!(printed.parse::<EgressPolicy>().as_ref(), Ok(&policy), "{text:?} -> {printed:?}");
        let metadata = policy.check("x.invalid", "169.254.169.254".parse().unwrap(), 80).is_ok();
        assert!(!metadata || text.to_lowercase().trim_matches([',', ' ', '\n']) == "all", "{text:?}");
    }
    assert!(accepted > 1_000, "{accepted}");
}
