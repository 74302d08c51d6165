//! `hearth mcp`: sandboxes for agents, without a server for apps. At standard input and output, nothing but the protocol is
//! written to the output, and the end of the input is the end of the program; over HTTP it serves until it is told to stop.
//! Either way all sandboxes are gone when it ends.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use hearth_config::OperatorConfig;
use hearth_mcp::{FrontConfig, McpListener, serve_stdio};
use hearth_sandbox::Sandboxes;
use hearth_store::AdminToken;

use crate::hangup::Terminal;
use crate::mcp_options::{McpFrontOptions, McpOptions};
use crate::{configuration, log, sandboxes, signals, threads};

/// What the protocol's machinery has to say is of interest to nobody who uses it.
const QUIET: &str = ",rmcp=error,h2=error";

pub fn mcp(options: McpOptions) -> anyhow::Result<()> {
    // Clients show what a server says beside the protocol: only what matters.
    log::init(&format!("{}{QUIET}", if options.stdio { "warn" } else { "info" }));
    let operator = configured(&options)?;
    let config = sandboxes::config(&options.sandboxes, operator.sandboxes.as_ref(), &options.data)?;
    let listener = options.http.map(|address| listen(address, &options)).transpose()?;
    let runtime = threads::start()?;
    let served = runtime.block_on(async {
        // Before anybody is told that we are there: who is told may want us to stop.
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
    // Somebody may still be waiting for input, which need not come.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}

fn configured(options: &McpOptions) -> anyhow::Result<OperatorConfig> {
    let (path, text) = configuration::text(options.config.as_deref())?;
    OperatorConfig::parse(&text, &path).map_err(|errors| anyhow::anyhow!("{errors}"))
}

fn listen(address: SocketAddr, options: &McpOptions) -> anyhow::Result<(TcpListener, FrontConfig)> {
    let front = front(&options.front, &options.data)?;
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    Ok((listener, front))
}

/// Who is let in over HTTP, and for how long.
pub fn front(options: &McpFrontOptions, data: &Path) -> anyhow::Result<FrontConfig> {
    Ok(FrontConfig {
        token: token(options, data)?,
        hosts: options.mcp_hosts.clone(),
        url: options.mcp_url.clone(),
        session_idle: options.mcp_session_idle,
        ..FrontConfig::default()
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
            let made = AdminToken::read_or_make_for_mcp(data)?;
            if let Some(note) = &made.note {
                tracing::warn!("{note}");
            }
            tracing::info!("The token for MCP is in {}", data.join(hearth_store::MCP_TOKEN_FILE).display());
            Ok(made.token.reveal().to_owned())
        }
    }
}
