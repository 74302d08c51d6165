//! Command line options of `hearth mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use hearth_config::parse_listen;
use hearth_core::units::parse_duration;

use crate::sandboxes::SandboxFlags;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("transport").required(true).args(["stdio", "http"]))]
pub struct McpOptions {
    /// Serve one client at standard input and output, until the input ends.
    #[arg(long)]
    pub stdio: bool,
    /// Serve any number of clients over HTTP, at /mcp.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub http: Option<SocketAddr>,
    /// Serve what the protocol's conformance suite expects instead of sandboxes.
    #[arg(long, hide = true, requires = "http")]
    pub conformance: bool,
    /// Where state is kept: packages that were fetched, the token that was made [default: .hearth; with --stdio
    /// ~/.cache/hearth].
    #[arg(long, env = "HEARTH_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The configuration, of which `sandboxes` counts [default: hearth.yaml, where it is there].
    #[arg(long, env = "HEARTH_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub sandboxes: SandboxFlags,
    #[command(flatten)]
    pub front: McpFrontOptions,
}

/// MCP over HTTP, by itself or as part of a server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "MCP over HTTP")]
pub struct McpFrontOptions {
    /// The token that clients send. Without it one is made on first start and kept in DATA/mcp.token.
    #[arg(
        long = "mcp-token",
        alias = "token",
        env = "HEARTH_MCP_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        conflicts_with = "mcp_token_file"
    )]
    pub mcp_token: Option<String>,
    /// A file with that token.
    #[arg(long = "mcp-token-file", alias = "token-file", env = "HEARTH_MCP_TOKEN_FILE", value_name = "FILE")]
    pub mcp_token_file: Option<PathBuf>,
    /// A name under which clients reach the server, beside numbers and localhost; can be given several times.
    #[arg(long = "mcp-host", env = "HEARTH_MCP_HOSTS", value_name = "NAME", value_delimiter = ',')]
    pub mcp_hosts: Vec<String>,
    /// How clients reach the server, where that is not its own address: links to files begin with it.
    #[arg(long, env = "HEARTH_MCP_URL", value_name = "URL")]
    pub mcp_url: Option<String>,
    /// A session of which nothing was open for this long ends, and its sandboxes with it.
    #[arg(
        long,
        env = "HEARTH_MCP_SESSION_IDLE",
        default_value = "30m",
        value_name = "TIME",
        value_parser = parse_duration
    )]
    pub mcp_session_idle: Duration,
}
