//! A client of MCP that loses its connection in the middle of a command, and goes on with `Last-Event-ID`: on sockets, byte by
//! byte.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::program::Program;
use crate::server::{PATIENCE, scratch};

const TOKEN: &str = "the-tests-own-mcp-token";

/// A connection, and what came over it so far.
struct Wire {
    stream: TcpStream,
    text: String,
}

impl Wire {
    fn ask(address: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nmcp-protocol-version: \
             2025-11-25\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{lines}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        Self { stream, text: String::new() }
    }

    /// Reads until this is there.
    fn until(&mut self, what: &str) -> &str {
        while !self.text.contains(what) {
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "no {what:?} in {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        &self.text
    }

    /// The names of events, in the order in which they came.
    fn ids(&self) -> Vec<String> {
        self.text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
    }
}

fn message(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

#[test]
fn a_command_continues_and_a_reconnected_client_gets_its_output() {
    let data = scratch("mcp-resume-data");
    let flags = ["mcp", "--http", "127.0.0.1:0", "--token", TOKEN, "--data", data.to_str().unwrap()];
    let program = Program::start("mcp-resume", &flags);
    let address = program.address("MCP on http://");
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let mut begun = Wire::ask(&address, "POST", &[], &message(1, "initialize", params));
    let head = begun.until("\r\n\r\n").to_ascii_lowercase();
    let session = head.split("mcp-session-id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let session = ("mcp-session-id", session.as_str());
    let mut created =
        Wire::ask(&address, "POST", &[session], &message(2, "tools/call", json!({ "name": "create_sandbox" })));
    let text = created.until("\"vcpu_count\":");
    let sandbox = text.split("\"sandbox_id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();

    // It writes, waits for a file, and writes again: it is cut off in between.
    let command = "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after";
    let arguments = json!({ "sandbox_id": sandbox, "command": command });
    let meta = json!({ "progressToken": "p" });
    let run = message(3, "tools/call", json!({ "name": "run_command", "arguments": arguments, "_meta": meta }));
    let events = ("accept", "text/event-stream");
    let mut cut = Wire::ask(&address, "POST", &[session, events], &run);
    cut.until("before\\n");
    let seen = cut.ids();
    assert_eq!(seen.len(), 2, "one that opens the stream, one with a message: {}", cut.text);
    drop(cut);

    let arguments = json!({ "sandbox_id": sandbox, "path": "go", "content": "" });
    let write = message(4, "tools/call", json!({ "name": "write_file", "arguments": arguments }));
    Wire::ask(&address, "POST", &[session], &write).until("\"id\":4");
    let mut back = Wire::ask(&address, "GET", &[session, events, ("last-event-id", &seen[1])], "");
    back.until("\"stdout\":\"before\\nafter\\n\"");
    assert!(back.text.contains("\"id\":3") && !back.ids().contains(&seen[1]), "{}", back.text);
    // From the beginning, too, and as often as it takes.
    let mut again = Wire::ask(&address, "GET", &[session, events, ("last-event-id", &seen[0])], "");
    again.until("\"stdout\":\"before\\nafter\\n\"");
    assert!(again.ids().contains(&seen[1]), "{}", again.text);
    let mut unknown = Wire::ask(&address, "GET", &[session, events, ("last-event-id", "77-0")], "");
    assert!(unknown.until("\r\n").contains(" 400 "), "{}", unknown.text);
}
