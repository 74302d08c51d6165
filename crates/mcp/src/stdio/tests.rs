use std::sync::Arc;
use std::time::Duration;

use hearth_sandbox::fake::FakeDriver;
use hearth_sandbox::{Drivers, PoolConfig, Pooling, SandboxesConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use super::*;

struct World {
    driver: FakeDriver,
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

async fn world() -> World {
    let driver = FakeDriver::new();
    let mut pool = PoolConfig::new(Drivers::new(Arc::new(driver.clone()), []));
    pool.pooling = Pooling::Off;
    let sandboxes = Sandboxes::new(SandboxesConfig::new(pool));
    sandboxes.start().await.unwrap();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (output, input) = tokio::io::split(ours);
    let (from, to) = tokio::io::split(theirs);
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let served = tokio::spawn(async move { serve_stdio(sandboxes, from, to, stopped.cancelled()).await });
    World { driver, input, output: BufReader::new(output), stop, served }
}

impl World {
    async fn send(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let received = tokio::time::timeout(Duration::from_secs(60), self.output.read_line(&mut line));
        received.await.expect("it answers").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        self.receive().await
    }

    async fn begin(&mut self) {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let begun = self.ask(0, "initialize", params).await;
        assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
        let made = self.ask(1, "tools/call", json!({ "name": "create_sandbox" })).await;
        assert!(made["result"]["structuredContent"]["sandbox_id"].is_string(), "{made}");
        assert_eq!(self.driver.live().len(), 1);
    }

    async fn ended(self) {
        tokio::time::timeout(Duration::from_secs(60), self.served).await.expect("it ends").unwrap();
        assert_eq!(self.driver.live().len(), 0);
    }
}

#[tokio::test]
async fn early_requests_get_errors_and_the_session_begins_all_the_same() {
    let mut world = world().await;
    world.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    assert_eq!(world.ask(7, "server/discover", json!({})).await["error"]["code"], -32602);
    assert_eq!(world.ask(8, "tools/list", json!({})).await["error"]["code"], -32602);
    world.begin().await;
    let listed = world.ask(9, "tools/list", json!({})).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"run_command") && !names.contains(&"create_file_link"), "{names:?}");
}

#[tokio::test]
async fn a_client_without_a_handshake_is_served_too() {
    let mut world = world().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = world.ask(1, "server/discover", json!({ "_meta": meta })).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{found}");
    let made = world.ask(2, "tools/call", json!({ "name": "create_sandbox", "_meta": meta })).await;
    assert!(made["result"]["structuredContent"]["sandbox_id"].is_string(), "{made}");
    let listed = world.ask(3, "tools/list", json!({ "_meta": meta })).await;
    assert!(listed["result"]["ttlMs"].is_u64() && listed["result"]["tools"].is_array(), "{listed}");
    world.input.shutdown().await.unwrap();
    world.ended().await;
}

#[tokio::test]
async fn the_end_of_the_input_destroys_the_sandboxes_also_while_a_command_runs() {
    let mut world = world().await;
    world.begin().await;
    let listed = world.ask(2, "tools/call", json!({ "name": "list_sandboxes" })).await;
    let sandbox = &listed["result"]["structuredContent"]["sandboxes"][0]["sandbox_id"];
    let arguments = json!({ "sandbox_id": sandbox, "command": "sleep 3000", "timeout_ms": 3_600_000 });
    let call = json!({ "name": "run_command", "arguments": arguments });
    world.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call })).await;
    world.input.shutdown().await.unwrap();
    world.ended().await;
}

#[tokio::test]
async fn a_stop_from_outside_destroys_the_sandboxes() {
    let mut world = world().await;
    world.begin().await;
    world.stop.cancel();
    world.ended().await;
}
