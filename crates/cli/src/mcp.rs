//! `hearth mcp`: sandboxes for agents, without a server for apps. On standard input and output only the protocol is written to
//! the output, and the end of the input ends the program; over HTTP it serves until it is stopped. Either way all sandboxes
//! are destroyed when it ends.

use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use hearth_config::OperatorConfig;
use hearth_mcp::{McpListener, McpServiceConfig, ToolSet, serve_stdio};
use hearth_sandbox::{Pooling, Sandboxes};
use hearth_store::AdminToken;

use crate::bind::BindError;
use crate::mcp_options::{McpFrontOptions, McpOptions};
use crate::sighup::Terminal;
use crate::{configuration, log, sandboxes, signals, threads};

pub fn mcp(options: McpOptions) -> anyhow::Result<()> {
    // Clients show what a server writes to standard error: only warnings.
    log::init(&format!("{}{}", if options.stdio { "warn" } else { "info" }, log::QUIET));
    let operator = configured(&options)?;
    let data = data(&options);
    let mut config = sandboxes::config(&options.sandboxes, operator.sandboxes.as_ref(), &data.folder)?;
    if data.is_of_client {
        // A client's working folder is not the place for state.
        config.pool.packages.folder = None;
    }
    if options.conformance {
        config.pool.pooling = Pooling::Off;
    }
    let listener = options.http.map(|address| listen(address, &options, &data.folder)).transpose()?;
    let runtime = threads::start()?;
    let served = runtime.block_on(async {
        // Before readiness is announced: a stop signal may follow at once.
        let stop = signals::stop(Terminal::now()).context("cannot watch for signals")?;
        let sandboxes = Sandboxes::new(config);
        sandboxes.start().await?;
        match listener {
            None => serve_stdio(sandboxes.clone(), tokio::io::stdin(), tokio::io::stdout(), stop).await,
            Some((listener, front)) => {
                let listener = McpListener::start(listener, front, sandboxes.clone())?;
                tracing::info!("MCP on http://{}/mcp", listener.address());
                stop.await;
                listener.stop().await;
            }
        }
        sandboxes.shutdown().await;
        anyhow::Ok(())
    });
    // A blocked read of standard input must not delay the end.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}

/// The data folder.
struct Data {
    folder: PathBuf,
    /// The default would be the folder of the client, and no home folder is known.
    is_of_client: bool,
}

/// A client starts its servers in its own working folder, so state that is kept goes to the user's cache.
fn data(options: &McpOptions) -> Data {
    let here = || PathBuf::from(crate::serve::DATA);
    match &options.data {
        Some(folder) => Data { folder: folder.clone(), is_of_client: false },
        None if !options.stdio => Data { folder: here(), is_of_client: false },
        None => match user_cache(|name| std::env::var_os(name)) {
            Some(folder) => Data { folder, is_of_client: false },
            None => Data { folder: here(), is_of_client: true },
        },
    }
}

/// By the XDG base directory specification.
fn user_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("hearth"))
}

fn configured(options: &McpOptions) -> anyhow::Result<OperatorConfig> {
    let (path, text) = configuration::text(options.config.as_deref())?;
    OperatorConfig::parse(&text, &path).map_err(|errors| anyhow::anyhow!("{errors}"))
}

fn listen(address: SocketAddr, options: &McpOptions, data: &Path) -> anyhow::Result<(TcpListener, McpServiceConfig)> {
    let front = match options.conformance {
        true => McpServiceConfig { tool_set: ToolSet::Conformance, ..McpServiceConfig::default() },
        false => front(&options.front, data)?,
    };
    let listener = TcpListener::bind(address).map_err(|error| BindError::new(address, "--http", error))?;
    Ok((listener, front))
}

/// The settings of the HTTP service: token, hosts, session limits.
pub fn front(options: &McpFrontOptions, data: &Path) -> anyhow::Result<McpServiceConfig> {
    Ok(McpServiceConfig {
        token: token(options, data)?,
        hosts: options.mcp_hosts.clone(),
        url: options.mcp_url.clone(),
        session_idle: options.mcp_session_idle,
        ..McpServiceConfig::default()
    })
}

fn token(options: &McpFrontOptions, data: &Path) -> anyhow::Result<String> {
    let given = match (&options.mcp_token, &options.mcp_token_file) {
        (Some(token), _) => Some(token.trim().to_owned()),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            Some(text.trim().to_owned())
        }
        (None, None) => None,
    };
    match given {
        Some(token) if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token),
        Some(_) => {
            bail!("the token for MCP must be visible ASCII characters, at least one; leave it out, and one is made")
        }
        None => {
            let made = AdminToken::read_or_create_for_mcp(data)?;
            if let Some(note) = &made.warning {
                tracing::warn!("{note}");
            }
            tracing::info!("The token for MCP is in {}", data.join(hearth_store::MCP_TOKEN_FILE).display());
            Ok(made.token.reveal().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_the_users() {
        let cache = |home: &str, xdg: &str| {
            user_cache(|name| {
                let value = if name == "HOME" { home } else { xdg };
                Some(OsString::from(value)).filter(|value| !value.is_empty())
            })
        };
        assert_eq!(cache("/home/a", ""), Some("/home/a/.cache/hearth".into()));
        assert_eq!(cache("/home/a", "/cache"), Some("/cache/hearth".into()));
        assert_eq!(cache("/home/a", "relative"), Some("/home/a/.cache/hearth".into()), "such values are to be ignored");
        assert_eq!(cache("", ""), None);
    }
}
