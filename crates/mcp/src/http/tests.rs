//! The service, with a fake sandbox driver. Sockets and real clients: `tests/all/mcp.rs`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, Dispatch, Headers, Method, Request, Response};
use hearth_sandbox::fake::FakeDriver;
use hearth_sandbox::{Drivers, PoolConfig, Pooling, Sandboxes, SandboxesConfig};
use serde_json::{Value, json};

use super::service::{McpService, McpServiceConfig};

const TOKEN: &str = "secret";

struct World {
    driver: FakeDriver,
    front: Arc<McpService>,
}

struct Got {
    status: u16,
    session: Option<String>,
    kind: String,
    body: Vec<u8>,
}

async fn world_with(config: McpServiceConfig) -> World {
    let driver = FakeDriver::new();
    let mut pool = PoolConfig::new(Drivers::new(Arc::new(driver.clone()), []));
    pool.pooling = Pooling::Off;
    let sandboxes = Sandboxes::new(SandboxesConfig::new(pool));
    sandboxes.start().await.unwrap();
    let config = McpServiceConfig { token: TOKEN.to_owned(), ..config };
    let address = "127.0.0.1:8808".parse().unwrap();
    World { driver, front: Arc::new(McpService::new(config, address, sandboxes)) }
}

async fn world() -> World {
    world_with(McpServiceConfig::default()).await
}

fn request(method: Method, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Request {
    let mut all = Headers::new();
    if !headers.iter().any(|(name, _)| *name == "host") {
        all.push(b"host", b"127.0.0.1:8808");
    }
    for (name, value) in headers {
        all.push(name.as_bytes(), value.as_bytes());
    }
    let url = format!("http://127.0.0.1:8808{path}");
    Request { method, headers: all, body: Body::from(body.into()), ..Request::get(url) }
}

fn message(method: &str, id: u64, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    message("initialize", 0, json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }))
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    message("tools/call", id, json!({ "name": tool, "arguments": arguments }))
}

impl World {
    async fn send(&self, request: Request) -> Got {
        let Response { status, headers, body, .. } = self.front.dispatch(request).wait().await.unwrap();
        let text = |name| headers.get(name).map(|value| String::from_utf8(value.to_vec()).unwrap());
        let (session, kind) = (text("mcp-session-id"), text("content-type").unwrap_or_default());
        Got { status, session, kind, body: body.collect().await.unwrap().to_vec() }
    }

    async fn post(&self, session: Option<&str>, message: &Value) -> Got {
        let bearer = format!("Bearer {TOKEN}");
        let mut headers = vec![
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        self.send(request(Method::Post, "/mcp", &headers, message.to_string())).await
    }

    async fn begin(&self) -> String {
        let got = self.post(None, &initialize()).await;
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.body));
        assert_eq!(got.json()["result"]["protocolVersion"], "2025-11-25");
        got.session.unwrap()
    }

    /// A tool's structured result.
    async fn tool(&self, session: &str, id: u64, tool: &str, arguments: Value) -> Value {
        let got = self.post(Some(session), &call(id, tool, arguments)).await;
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.body));
        got.json()["result"]["structuredContent"].clone()
    }

    async fn sandbox(&self, session: &str) -> String {
        let made = self.tool(session, 1000, "create_sandbox", json!({})).await;
        made["sandbox_id"].as_str().unwrap().to_owned()
    }

    /// Waits until this many sessions are open.
    async fn sessions(&self, count: usize) {
        let reached = async {
            while self.front.sessions() != count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.expect("the sessions end");
    }

    async fn delete(&self, session: &str) -> Got {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str()), ("mcp-session-id", session)];
        self.send(request(Method::Delete, "/mcp", &headers, "")).await
    }
}

impl Got {
    fn json(&self) -> Value {
        assert_eq!(self.kind, "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Messages of a stream of events.
    fn events(&self) -> Vec<Value> {
        assert_eq!(self.kind, "text/event-stream");
        let text = String::from_utf8(self.body.clone()).unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

#[tokio::test]
async fn requests_without_the_token_or_of_other_origins_are_refused() {
    let world = world().await;
    let bearer = format!("Bearer {TOKEN}");
    let token = ("authorization", bearer.as_str());
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer wrong")], 401),
        (vec![token, ("host", "evil.example")], 403),
        (vec![token, ("origin", "https://evil.example")], 403),
        (vec![token, ("origin", "null")], 403),
    ] {
        let got = world.send(request(Method::Post, "/mcp", &headers, initialize().to_string())).await;
        assert_eq!(got.status, status, "{headers:?}");
    }
    assert_eq!(world.send(request(Method::Put, "/mcp", &[token], "")).await.status, 405);
    assert_eq!(world.send(request(Method::Get, "/elsewhere", &[token], "")).await.status, 404);
    let health = world.send(request(Method::Get, "/health", &[], "")).await;
    assert_eq!((health.status, health.json()), (200, json!({ "status": "ok", "sessions": 0 })));
}

#[tokio::test]
async fn a_session_is_needed_and_ends_with_its_sandboxes() {
    let world = world().await;
    assert_eq!(world.post(None, &message("tools/list", 1, json!({}))).await.status, 400);
    assert_eq!(world.post(None, &message("server/discover", 1, json!({}))).await.status, 400);
    assert_eq!(world.post(Some("unknown"), &message("tools/list", 1, json!({}))).await.status, 404);
    let session = world.begin().await;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(world.post(Some(&session), &initialized).await.status, 202);
    let listed = world.post(Some(&session), &message("tools/list", 1, json!({}))).await.json();
    assert!(listed["result"]["tools"].as_array().unwrap().len() >= 8);
    world.sandbox(&session).await;
    assert_eq!(world.driver.live().len(), 1);
    assert_eq!(world.delete(&session).await.status, 204);
    assert_eq!(world.driver.live().len(), 0);
    assert_eq!(world.delete(&session).await.status, 404);
    assert_eq!(world.post(Some(&session), &message("tools/list", 2, json!({}))).await.status, 404);
}

#[tokio::test]
async fn sessions_do_not_see_each_others_sandboxes() {
    let world = world().await;
    let (ours, theirs) = (world.begin().await, world.begin().await);
    assert_ne!(ours, theirs);
    let sandbox = world.sandbox(&ours).await;
    assert_eq!(world.tool(&theirs, 1, "list_sandboxes", json!({})).await, json!({ "sandboxes": [] }));
    for (tool, more) in [
        ("run_command", json!({ "command": "echo hi" })),
        ("read_file", json!({ "path": "a" })),
        ("destroy_sandbox", json!({})),
        ("create_file_link", json!({ "path": "a", "direction": "download" })),
    ] {
        let mut arguments = more;
        arguments["sandbox_id"] = json!(sandbox);
        let refused = world.tool(&theirs, 2, tool, arguments).await;
        assert_eq!(refused["error"]["code"], "not_found", "{tool}: {refused}");
    }
    assert_eq!(world.delete(&theirs).await.status, 204);
    let ran = world.tool(&ours, 1, "run_command", json!({ "sandbox_id": sandbox, "command": "echo hi" })).await;
    assert_eq!(ran["stdout"], "hi\n");
}

#[tokio::test]
async fn bodies_that_are_no_message_are_refused() {
    let world = world().await;
    let session = world.begin().await;
    let bearer = format!("Bearer {TOKEN}");
    let headers = |kind, version| {
        vec![
            ("authorization", bearer.as_str()),
            ("content-type", kind),
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", version),
        ]
    };
    let list = message("tools/list", 1, json!({})).to_string();
    for (kind, version, body, status) in [
        ("application/json", "2025-11-25", "{".to_owned(), 400),
        ("application/json", "2025-11-25", format!("[{list}]"), 400),
        ("application/json", "2025-11-25", "{}".to_owned(), 400),
        ("text/plain", "2025-11-25", list.clone(), 415),
        ("application/json", "1999-01-01", list.clone(), 400),
        ("application/json", "2025-11-25", initialize().to_string(), 400),
        ("application/json", "2025-11-25", list.clone(), 200),
    ] {
        let got = world.send(request(Method::Post, "/mcp", &headers(kind, version), body.clone())).await;
        assert_eq!(got.status, status, "{kind} {version} {body}: {}", String::from_utf8_lossy(&got.body));
    }
    let unknown = world.post(Some(&session), &message("tools/calls", 5, json!({}))).await.json();
    assert_eq!(unknown["error"]["code"], -32601);
    let wrong = world.post(Some(&session), &message("tools/call", 6, json!({ "name": 5 }))).await.json();
    assert_eq!(wrong["error"]["code"], -32602);
    let none = world.post(Some(&session), &call(7, "no_such_tool", json!({}))).await.json();
    assert_eq!(none["error"]["code"], -32602);
    assert!(none["error"]["message"].as_str().unwrap().contains("create_sandbox"));
}

#[tokio::test]
async fn a_command_is_cancelled_and_its_id_is_not_accepted_again() {
    let world = world().await;
    let session = world.begin().await;
    let sandbox = world.sandbox(&session).await;
    let sleep =
        call(1, "run_command", json!({ "sandbox_id": sandbox, "command": "sleep 3000", "timeout_ms": 3_600_000 }));
    // Once the request is polled its id is in use.
    let mut waiting = std::pin::pin!(world.post(Some(&session), &sleep));
    tokio::select! {
        biased;
        got = &mut waiting => panic!("it was answered with {}", got.status),
        () = std::future::ready(()) => {}
    }
    assert_eq!(world.post(Some(&session), &message("ping", 1, json!({}))).await.status, 400);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(world.post(Some(&session), &cancel).await.status, 202);
    let cancelled = waiting.await;
    assert!(cancelled.status == 202 || cancelled.events().is_empty(), "{}", cancelled.status);
    // The answer may still come, and must not reach another request.
    assert_eq!(world.post(Some(&session), &message("ping", 1, json!({}))).await.status, 400);
    let ran = world.tool(&session, 2, "run_command", json!({ "sandbox_id": sandbox, "command": "echo mine" })).await;
    assert_eq!(ran["stdout"], "mine\n");
}

#[tokio::test]
async fn progress_is_sent_to_the_request_that_asked_for_it() {
    let world = world().await;
    let session = world.begin().await;
    let sandbox = world.sandbox(&session).await;
    let mut flood = call(1, "run_command", json!({ "sandbox_id": sandbox, "command": "flood" }));
    flood["params"]["_meta"] = json!({ "progressToken": "p" });
    let got = world.post(Some(&session), &flood).await;
    let events = if got.kind == "application/json" { vec![got.json()] } else { got.events() };
    let (answer, progress) = events.split_last().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["truncated"], true);
    for one in progress {
        assert_eq!((&one["method"], &one["params"]["progressToken"]), (&json!("notifications/progress"), &json!("p")));
        assert!(one["params"]["message"].as_str().unwrap().starts_with('y'));
    }
}

#[tokio::test]
async fn files_go_in_and_out_by_links() {
    let world = world().await;
    let session = world.begin().await;
    let sandbox = world.sandbox(&session).await;
    let link = async |id, direction: &str| {
        let arguments = json!({ "sandbox_id": sandbox, "path": "/work/a", "direction": direction });
        let made = world.tool(&session, id, "create_file_link", arguments).await;
        made["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:8808").unwrap().to_owned()
    };
    let (up, down) = (link(1, "upload").await, link(2, "download").await);
    let content: Vec<u8> = (0..=255).collect();
    assert_eq!(world.send(request(Method::Put, &up, &[], content.clone())).await.status, 204);
    let got = world.send(request(Method::Get, &down, &[], "")).await;
    assert_eq!((got.status, got.body), (200, content));
    for (method, path) in [(Method::Get, &up), (Method::Put, &down), (Method::Get, &"/files/guessed".to_owned())] {
        assert_eq!(world.send(request(method, path, &[], "")).await.status, 404);
    }
    assert_eq!(world.send(request(Method::Get, &down, &[("host", "evil.example")], "")).await.status, 403);
    world.delete(&session).await;
    assert_eq!(world.send(request(Method::Get, &down, &[], "")).await.status, 404);
}

#[tokio::test]
async fn idle_sessions_end_and_those_in_use_do_not() {
    let world =
        world_with(McpServiceConfig { session_idle: Duration::from_millis(200), ..McpServiceConfig::default() }).await;
    let session = world.begin().await;
    let used = world.begin().await;
    // The session is in use as long as the body of its listener exists.
    let bearer = format!("Bearer {TOKEN}");
    let headers =
        [("authorization", bearer.as_str()), ("accept", "text/event-stream"), ("mcp-session-id", used.as_str())];
    let listener = world.front.dispatch(request(Method::Get, "/mcp", &headers, "")).wait().await.unwrap();
    assert_eq!(listener.status, 200);
    world.sessions(1).await;
    assert_eq!(world.post(Some(&session), &message("ping", 1, json!({}))).await.status, 404);
    assert_eq!(world.post(Some(&used), &message("ping", 1, json!({}))).await.status, 200);
    drop(listener);
    world.sessions(0).await;
}

#[tokio::test]
async fn sessions_are_limited_and_none_opens_after_the_end() {
    let world = world_with(McpServiceConfig { max_sessions: 1, ..McpServiceConfig::default() }).await;
    let session = world.begin().await;
    world.sandbox(&session).await;
    assert_eq!(world.post(None, &initialize()).await.status, 503);
    world.front.end().await;
    assert_eq!((world.driver.live().len(), world.front.sessions()), (0, 0));
    assert_eq!(world.post(None, &initialize()).await.status, 503);
}

/// The first chunk of a stream, and the rest of its body.
async fn open(world: &World, request: Request) -> (String, Body) {
    let Response { status, mut body, .. } = world.front.dispatch(request).wait().await.unwrap();
    assert_eq!(status, 200);
    let Body::Stream(stream) = &mut body else { panic!("it is a stream") };
    let first = std::future::poll_fn(|cx| stream.poll_next(cx)).await.unwrap().unwrap();
    (String::from_utf8(first.to_vec()).unwrap(), body)
}

#[tokio::test]
async fn a_stream_is_resumed_after_its_connection_broke() {
    let world = world().await;
    let session = world.begin().await;
    let sandbox = world.sandbox(&session).await;
    let bearer = format!("Bearer {TOKEN}");
    let headers = |session, last| {
        let mut headers = vec![
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("mcp-protocol-version", "2025-11-25"),
            ("mcp-session-id", session),
        ];
        headers.extend(Some(("last-event-id", last)).filter(|(_, last): &(&str, &str)| !last.is_empty()));
        headers
    };
    let run = call(1, "run_command", json!({ "sandbox_id": sandbox, "command": "echo kept" })).to_string();
    let (prelude, body) = open(&world, request(Method::Post, "/mcp", &headers(&session, ""), run)).await;
    let id = prelude.strip_prefix("id: ").and_then(|rest| rest.strip_suffix("\ndata: \n\n")).unwrap();
    // The connection breaks before the answer.
    drop(body);
    for _ in 0..2 {
        let again = world.send(request(Method::Get, "/mcp", &headers(&session, id), "")).await;
        let text = String::from_utf8(again.body).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| !data.is_empty()).unwrap();
        let answer: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["stdout"]), (&json!(1), &json!("kept\n")));
    }
    let (prelude, listener) = open(&world, request(Method::Get, "/mcp", &headers(&session, ""), "")).await;
    let id_of_listener = prelude.strip_prefix("id: ").and_then(|rest| rest.lines().next()).unwrap();
    drop(listener);
    let (_, listener) = open(&world, request(Method::Get, "/mcp", &headers(&session, id_of_listener), "")).await;
    let other = world.begin().await;
    for (session, last) in [(&session, "99-0"), (&session, "x"), (&other, id)] {
        let refused = world.send(request(Method::Get, "/mcp", &headers(session, last), "")).await;
        assert_eq!(refused.status, 400, "{last}");
    }
    drop(listener);
}

/// A message of the protocol without sessions, and its answer.
async fn stateless(world: &World, method: &str, mut params: Value) -> Got {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let bearer = format!("Bearer {TOKEN}");
    let tool = params["name"].as_str().map(str::to_owned);
    let mut headers = vec![
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    headers.extend(tool.as_deref().map(|name| ("mcp-name", name)));
    world.send(request(Method::Post, "/mcp", &headers, message(method, 1, params).to_string())).await
}

#[tokio::test]
async fn sandboxes_of_stateless_clients_belong_to_the_token() {
    let world = world().await;
    let found = stateless(&world, "server/discover", json!({})).await;
    assert_eq!((found.status, &found.session), (200, &None));
    let versions = found.json()["result"]["supportedVersions"].clone();
    assert_eq!(versions.as_array().unwrap().last(), Some(&json!("2026-07-28")), "{versions}");
    let made = stateless(&world, "tools/call", json!({ "name": "create_sandbox", "arguments": {} })).await;
    assert_eq!(made.status, 200, "{}", String::from_utf8_lossy(&made.body));
    let sandbox = made.json()["result"]["structuredContent"]["sandbox_id"].clone();
    let run = json!({ "name": "run_command", "arguments": { "sandbox_id": sandbox, "command": "echo hi" } });
    let ran = stateless(&world, "tools/call", run.clone()).await;
    assert_eq!(ran.json()["result"]["structuredContent"]["stdout"], "hi\n");
    // Sessions do not see that sandbox.
    let session = world.begin().await;
    let none = world.tool(&session, 2, "list_sandboxes", json!({})).await;
    assert_eq!(none["sandboxes"], json!([]));
    // There is nothing to listen to and nothing to end.
    for method in [Method::Get, Method::Delete] {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str()), ("mcp-protocol-version", "2026-07-28")];
        assert_eq!(world.send(request(method, "/mcp", &headers, "")).await.status, 405);
    }
    assert_eq!(world.driver.live().len(), 1);
    world.front.end().await;
    assert_eq!(world.driver.live().len(), 0);
}

#[tokio::test]
async fn stateless_errors_have_the_protocols_own_codes() {
    let world = world().await;
    let unknown = stateless(&world, "no/such", json!({})).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let nothing = stateless(&world, "tools/call", json!({ "name": "no_such_tool" })).await;
    assert_eq!((nothing.status, &nothing.json()["error"]["code"]), (200, &json!(-32602)));
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
    ];
    let bare = message("tools/list", 1, json!({}));
    let got = world.send(request(Method::Post, "/mcp", &headers, bare.to_string())).await;
    assert_eq!(got.status, 400, "{}", String::from_utf8_lossy(&got.body));
}

#[tokio::test]
async fn an_unauthorized_response_names_the_missing_token_and_no_oauth() {
    let world = world().await;
    let challenge = async |headers: &[(&str, &str)]| {
        let refused = world.front.dispatch(request(Method::Post, "/mcp", headers, "")).wait().await.unwrap();
        assert_eq!(refused.status, 401);
        String::from_utf8(refused.headers.get("www-authenticate").unwrap().to_vec()).unwrap()
    };
    assert_eq!(challenge(&[]).await, "Bearer realm=\"hearth\"");
    let wrong = challenge(&[("authorization", "Bearer wrong")]).await;
    assert!(wrong.contains("error=\"invalid_token\""), "{wrong}");
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"] {
        assert_eq!(world.send(request(Method::Get, path, &[], "")).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_poll_gives_what_is_new_since_the_last_one_of_this_client() {
    let world = world().await;
    let session = world.begin().await;
    let sandbox = world.sandbox(&session).await;
    let start = json!({ "sandbox_id": sandbox, "command": "echo hi" });
    let job = world.tool(&session, 1, "start_job", start).await["job_id"].clone();
    let poll = json!({ "sandbox_id": sandbox, "job_id": job, "wait_ms": 60_000 });
    let first = world.tool(&session, 2, "poll_job", poll.clone()).await;
    assert_eq!((&first["stdout"], &first["stdout_offset"]), (&json!("hi\n"), &json!(3)));
    let second = world.tool(&session, 3, "poll_job", poll.clone()).await;
    assert_eq!((&second["stdout"], &second["stdout_offset"]), (&json!(""), &json!(3)));
    let mut earlier = poll;
    earlier["stdout_offset"] = json!(1);
    assert_eq!(world.tool(&session, 4, "poll_job", earlier).await["stdout"], "i\n");
}

#[tokio::test]
async fn a_sandbox_can_be_changed_later() {
    let world = world().await;
    let session = world.begin().await;
    let sandbox = world.sandbox(&session).await;
    let before = world.tool(&session, 1, "get_sandbox", json!({ "sandbox_id": sandbox })).await;
    let change = json!({ "sandbox_id": sandbox, "ttl_ms": 60_000, "allowed_hosts": ["pypi.org"] });
    let after = world.tool(&session, 2, "update_sandbox", change).await;
    assert_eq!((&before["network"], &after["network"]), (&json!("none"), &json!("pypi.org")));
    assert!(after["expires_at"].as_str() < before["expires_at"].as_str(), "{after}");
    let closed = json!({ "sandbox_id": sandbox, "allowed_hosts": [] });
    let closed = world.tool(&session, 3, "update_sandbox", closed).await;
    assert_eq!((&closed["network"], &closed["expires_at"]), (&json!("none"), &after["expires_at"]));
    let wrong = json!({ "sandbox_id": sandbox, "ttl_ms": 1_000_000_000_000_u64 });
    let refused = world.tool(&session, 4, "update_sandbox", wrong).await;
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("ttl_ms"), "{refused}");
}
