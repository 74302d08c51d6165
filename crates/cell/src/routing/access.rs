//! Access to one app: tokens and rate limit. Both fail closed: what cannot be parsed is rejected.

use std::net::IpAddr;
use std::time::Instant;

use hearth_config::{Auth, PublicRoutes, Settings};
use hearth_core::{Failure, Request, hex};
use hearth_gateway::{KeyedRateLimiter, Rate, RateDecision, client_group};
use sha2::{Digest, Sha256};

/// Clients of one app that its rate limit remembers, about 100 bytes each.
const MAX_CLIENTS: usize = 20_000;

pub(super) struct AccessControl {
    tokens: Option<Tokens>,
    rates: Option<(Rate, KeyedRateLimiter<IpAddr>)>,
}

struct Tokens {
    hashes: Vec<[u8; 32]>,
    public: PublicRoutes,
}

impl AccessControl {
    /// `None` where requests need no token and have no rate limit.
    pub(super) fn new(settings: &Settings, tokens: &[String]) -> Option<Self> {
        let tokens = match settings.auth {
            Auth::None => None,
            Auth::Token => {
                let hashes = tokens.iter().filter_map(|text| hex::decode_array(text)).collect();
                Some(Tokens { hashes, public: settings.public_routes.clone() })
            }
        };
        let rates = settings.rate_limit.map(|spec| {
            let rate = Rate { requests: spec.requests, per: spec.per };
            (rate, KeyedRateLimiter::new(MAX_CLIENTS))
        });
        (tokens.is_some() || rates.is_some()).then_some(Self { tokens, rates })
    }

    /// `path` is the app's own, without its base and query.
    pub(super) fn check(&self, request: &Request, path: &str) -> Result<(), Failure> {
        if let (Some((rate, rates)), Some(client)) = (&self.rates, request.client)
            && let RateDecision::Limited { retry_after } = rates.admit(client_group(client), *rate, Instant::now())
        {
            return Err(Failure::RateLimited { retry_after });
        }
        match &self.tokens {
            Some(tokens) if !tokens.is_authorized(request, path) => Err(Failure::Unauthorized),
            _ => Ok(()),
        }
    }
}

impl Tokens {
    fn is_authorized(&self, request: &Request, path: &str) -> bool {
        if self.public.matches(request.method.as_str(), path) {
            return true;
        }
        let Some(token) = request.headers.bearer() else { return false };
        let given: [u8; 32] = Sha256::digest(token).into();
        // Hashes are compared, so an early end of the comparison reveals nothing about a token.
        self.hashes.contains(&given)
    }
}
