//! From the plan to the HTTP front.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use hearth_core::Cidr;
use hearth_gateway::{
    AccessLog, Certificates, Compression, Config, Errors, Listener, PemFile, PemPair, Rate, TlsError,
};
use hearth_link::{AccessFormat, CellPlan, FromCell, ListenerPlan};

use super::outbox::Outbox;

#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error("a listener cannot be used: {0}")]
    Listener(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("trusted_proxies: {0:?} is no address and no range of addresses")]
    Proxy(String),
}

pub(super) fn config(plan: &CellPlan, outbox: &Outbox) -> Result<Config, FrontError> {
    let front = &plan.front;
    let proxies = front.trusted_proxies.iter();
    let proxies = proxies.map(|text| text.parse::<Cidr>().map_err(|_| FrontError::Proxy(text.clone())));
    let written = {
        let outbox = outbox.clone();
        move |line: &str| outbox.offer(FromCell::Access(line.to_owned()))
    };
    let defaults = Config::default();
    Ok(Config {
        default_host: plan.listeners.first().map_or(defaults.default_host.clone(), |listener| match listener {
            ListenerPlan::Plain(address) | ListenerPlan::Tls(address) => address.to_string(),
        }),
        trusted_proxies: proxies.collect::<Result<_, _>>()?,
        max_body: front.max_body,
        head_timeout: front.head_timeout,
        keep_alive_timeout: front.keep_alive_timeout,
        body_timeout: front.body_timeout,
        write_timeout: front.write_timeout,
        drain_timeout: front.drain_timeout,
        max_connections: front.max_connections,
        max_connections_per_client: front.max_connections_per_client.unwrap_or(0),
        rate_limit: front.rate.map(|rate| Rate { requests: rate.requests, per: rate.per }),
        compression: if front.compression { Compression::On } else { Compression::Off },
        access_log: match front.access_log {
            AccessFormat::Off => AccessLog::Off,
            AccessFormat::Text => AccessLog::text(written),
            AccessFormat::Json => AccessLog::json(written),
        },
        errors: if front.detailed_errors { Errors::Detailed } else { Errors::Brief },
        ..defaults
    })
}

/// Must be called on the runtime that serves.
pub(super) fn listeners(plan: &CellPlan, passed: Vec<TcpListener>) -> Result<Vec<Listener>, FrontError> {
    let certificates = match plan.certificates.is_empty() {
        true => None,
        false => Some(Arc::new(Certificates::new(&pairs(plan))?)),
    };
    passed
        .into_iter()
        .zip(&plan.listeners)
        .map(|(listener, kind)| {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            match (kind, &certificates) {
                (ListenerPlan::Plain(_), _) => Ok(Listener::Plain(listener)),
                (ListenerPlan::Tls(_), Some(certificates)) => Ok(Listener::Tls(listener, certificates.clone())),
                (ListenerPlan::Tls(_), None) => Err(TlsError::None.into()),
            }
        })
        .collect()
}

fn pairs(plan: &CellPlan) -> Vec<PemPair> {
    let file = |path: &str, text: &str| PemFile { path: PathBuf::from(path), text: text.as_bytes().to_vec() };
    let pair = |one: &hearth_link::CertificatePlan| PemPair {
        certificate: file(&one.file, &one.certificate),
        key: file(&one.key_file, &one.key),
    };
    plan.certificates.iter().map(pair).collect()
}
