//! From the plan to the configuration of the gateway.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use hearth_core::{ADMIN_COOKIE, Cidr};
use hearth_gateway::{
    AccessLogOutput, Certificates, Compression, Config, ErrorDetail, Listener, PemFile, PemPair, Rate, TlsError,
};
use hearth_ipc::{AccessFormat, CellMessage, CellPlan, CellRole, CertificatePlan, ListenerPlan};

use super::control_writer::ControlWriter;
use super::trace;
use crate::routing::AppRouter;

#[derive(Debug, thiserror::Error)]
pub enum GatewayConfigError {
    #[error("a listener cannot be used: {0}")]
    Listener(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("trusted_proxies: {0:?} is neither an address nor a range of addresses")]
    Proxy(String),
}

pub(super) fn config(
    plan: &CellPlan,
    writer: &ControlWriter,
    router: &AppRouter,
) -> Result<Config, GatewayConfigError> {
    let front = &plan.front;
    let proxies = front.trusted_proxies.iter();
    let proxies = proxies.map(|text| text.parse::<Cidr>().map_err(|_| GatewayConfigError::Proxy(text.clone())));
    let write_line = {
        let writer = writer.clone();
        move |line: &str| writer.try_send(CellMessage::Access(line.to_owned()))
    };
    let defaults = Config::default();
    let config = Config {
        default_host: default_host(plan).unwrap_or_else(|| defaults.default_host.clone()),
        trusted_proxies: proxies.collect::<Result<_, _>>()?,
        private_cookie: Some(ADMIN_COOKIE.into()),
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
            AccessFormat::Off => AccessLogOutput::Off,
            AccessFormat::Text => AccessLogOutput::text(write_line),
            AccessFormat::Json => AccessLogOutput::json(write_line),
        },
        traces: trace::traces(front.traces, writer, router),
        errors: if front.detailed_errors { ErrorDetail::Detailed } else { ErrorDetail::Brief },
        ..defaults
    };
    Ok(match plan.role {
        CellRole::Main => config,
        CellRole::Cordon => config.behind_hop(),
    })
}

/// The host of requests that have none.
fn default_host(plan: &CellPlan) -> Option<String> {
    plan.listeners.iter().find_map(|listener| match listener {
        ListenerPlan::Plain(address) | ListenerPlan::Tls(address) => Some(address.to_string()),
        ListenerPlan::Hop(_) => None,
    })
}

/// The certificates, if a listener uses TLS.
pub(super) fn certificates(plan: &CellPlan) -> Result<Option<Arc<Certificates>>, GatewayConfigError> {
    Ok(match plan.certificates.is_empty() {
        true => None,
        false => Some(Arc::new(Certificates::new(&pairs(&plan.certificates))?)),
    })
}

/// Replaces the certificates for handshakes from now on.
pub(super) fn renew(certificates: Option<&Arc<Certificates>>, plans: &[CertificatePlan]) {
    // Control has checked them: an error here is a bug.
    match certificates.map(|certificates| certificates.replace(&pairs(plans))) {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::error!(%error, "certificates not replaced"),
        None => tracing::error!("certificates without a TLS listener"),
    }
}

/// Must be called on the runtime that serves.
pub(super) fn listeners(
    plan: &CellPlan,
    passed: Vec<OwnedFd>,
    certificates: Option<&Arc<Certificates>>,
) -> Result<Vec<Listener>, GatewayConfigError> {
    passed
        .into_iter()
        .zip(&plan.listeners)
        .map(|(fd, kind)| match (kind, certificates) {
            (ListenerPlan::Plain(_), _) => Ok(Listener::plain(TcpListener::from(fd))?),
            (ListenerPlan::Tls(_), Some(certificates)) => {
                Ok(Listener::tls(TcpListener::from(fd), certificates.clone())?)
            }
            (ListenerPlan::Tls(_), None) => Err(TlsError::None.into()),
            (ListenerPlan::Hop(_), _) => Ok(Listener::Hop(unix(fd)?)),
        })
        .collect()
}

fn unix(fd: OwnedFd) -> io::Result<tokio::net::UnixListener> {
    let listener = UnixListener::from(fd);
    listener.set_nonblocking(true)?;
    tokio::net::UnixListener::from_std(listener)
}

fn pairs(plans: &[CertificatePlan]) -> Vec<PemPair> {
    let file = |path: &str, text: &str| PemFile { path: PathBuf::from(path), text: text.as_bytes().to_vec() };
    let pair = |one: &CertificatePlan| PemPair {
        certificate: file(&one.file, &one.certificate),
        key: file(&one.key_file, &one.key),
    };
    plans.iter().map(pair).collect()
}
