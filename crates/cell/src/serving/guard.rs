//! Who may come in: tokens and rates of one app. Both fail closed: what cannot be understood is refused.

use std::net::IpAddr;
use std::time::Instant;

use hearth_config::{Auth, PublicRoutes, Settings};
use hearth_core::{Failure, Request};
use hearth_gateway::{KeyedRateLimiter, Rate, RateDecision, client_group};
use sha2::{Digest, Sha256};

/// Clients of one app that its rate limit remembers, about 100 bytes each.
const CLIENTS: usize = 20_000;

pub(super) struct Guard {
    tokens: Option<Tokens>,
    rates: Option<(Rate, KeyedRateLimiter<IpAddr>)>,
}

struct Tokens {
    hashes: Vec<[u8; 32]>,
    public: PublicRoutes,
}

impl Guard {
    /// `None` where everybody may come in at any time.
    pub(super) fn new(settings: &Settings, tokens: &[String]) -> Option<Self> {
        let tokens = match settings.auth {
            Auth::None => None,
            Auth::Token => {
                let hashes = tokens.iter().filter_map(|text| from_hex(text)).collect();
                Some(Tokens { hashes, public: settings.public_routes.clone() })
            }
        };
        let rates = settings.rate_limit.map(|spec| {
            let rate = Rate { requests: spec.requests, per: spec.per };
            (rate, KeyedRateLimiter::new(CLIENTS))
        });
        (tokens.is_some() || rates.is_some()).then_some(Self { tokens, rates })
    }

    /// `path` is the app's own, without its base and query.
    pub(super) fn admit(&self, request: &Request, path: &str) -> Result<(), Failure> {
        if let (Some((rate, rates)), Some(client)) = (&self.rates, request.client) {
            if let RateDecision::Limited { retry_after } = rates.admit(client_group(client), *rate, Instant::now()) {
                return Err(Failure::RateLimited { retry_after });
            }
        }
        match &self.tokens {
            Some(tokens) if !tokens.lets_in(request, path) => Err(Failure::Unauthorized),
            _ => Ok(()),
        }
    }
}

impl Tokens {
    fn lets_in(&self, request: &Request, path: &str) -> bool {
        if self.public.matches(request.method.as_str(), path) {
            return true;
        }
        let Some(token) = request.headers.bearer() else { return false };
        let given: [u8; 32] = Sha256::digest(token).into();
        // The hash of a guess says nothing about the hash of a token: comparing may stop early.
        self.hashes.contains(&given)
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}
