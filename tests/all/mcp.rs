//! MCP with the real program and the official clients: the TypeScript SDK from npm, the Python SDK from PyPI, each over both
//! transports (`tests/mcp/`). And what they cannot see: what is left when it ends, access, what the operator sees.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hearth_sys::procfs::{self, ProcStat};
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::packages::{packages, python};
use crate::program::Program;
use crate::server::{PATIENCE, Server, run, scratch};

const BINARY: &str = env!("CARGO_BIN_EXE_hearth");
const TOKEN: &str = "the-tests-own-mcp-token";

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp")
}

/// Over HTTP, at a port of its own.
struct Http {
    program: Program,
    address: String,
}

impl Http {
    fn start(name: &str, flags: &[&str]) -> Self {
        let data = scratch(&format!("{name}-data"));
        let fixed = ["mcp", "--http", "127.0.0.1:0", "--token", TOKEN, "--data", data.to_str().unwrap()];
        let program = Program::start(name, &[&fixed, flags].concat());
        let address = program.address("MCP on http://");
        Self { program, address }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

fn succeeds(mut client: Command, log: impl FnOnce() -> String) {
    let output = client.stdin(Stdio::null()).output().unwrap();
    let (told, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.ends_with("done\n"), "{told}{failed}\nthe log:\n{}", log());
}

fn typescript(arguments: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.arg("client.mjs").args(arguments).current_dir(packages(&clients(), "mcp-typescript"));
    command
}

fn python_client(arguments: &[&str]) -> Command {
    let mut command = Command::new(python(&clients(), "mcp-python"));
    command.arg(clients().join("client.py")).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// What a client starts; its state is kept apart from that of others.
fn stdio(name: &str) -> Vec<String> {
    let data = scratch(&format!("{name}-data"));
    ["stdio", BINARY, "mcp", "--stdio", "--data", data.to_str().unwrap()].map(str::to_owned).to_vec()
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn the_typescript_client_works_over_stdio() {
    succeeds(typescript(&words(&stdio("mcp-ts-stdio"))), String::new);
}

#[test]
fn the_typescript_client_works_over_http() {
    let server = Http::start("mcp-ts-http", &[]);
    succeeds(typescript(&["http", &server.url(), TOKEN]), || server.program.log());
}

#[test]
fn the_python_client_works_over_stdio() {
    for version in ["2025-11-25", "2026-07-28"] {
        let arguments = stdio(&format!("mcp-py-stdio-{version}"));
        succeeds(python_client(&[&[version], &words(&arguments)[..]].concat()), String::new);
    }
}

#[test]
fn the_python_client_works_over_http() {
    let server = Http::start("mcp-py-http", &[]);
    // Stateless requests first: their sandboxes belong to the token.
    for version in ["2026-07-28", "2025-11-25"] {
        succeeds(python_client(&[version, "http", &server.url(), TOKEN]), || server.program.log());
    }
}

/// A client that says what the test wants.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Talk {
    fn start(name: &str) -> Self {
        let data = scratch(&format!("{name}-data"));
        let mut command = Command::new(BINARY);
        command.args(["mcp", "--stdio", "--data", data.to_str().unwrap()]).env("RUST_LOG", "debug");
        Self::with(command, &data)
    }

    /// The log goes to this folder.
    fn with(mut command: Command, data: &Path) -> Self {
        let errors = std::fs::File::create(data.join("log")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut talk = Self { child, input, output, next: 0 };
        let client = json!({ "name": "test", "version": "1" });
        // Without what a newer client says with it.
        assert!(talk.ask("server/discover", json!({}))["error"]["code"].is_i64());
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        assert_eq!(talk.ask("initialize", params)["result"]["protocolVersion"], "2025-11-25");
        talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        talk
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next message. Whatever is no message is an error here.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        loop {
            let answer = self.hear();
            if answer["id"] == self.next {
                return answer;
            }
        }
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments }));
        answer["result"]["structuredContent"].clone()
    }

    /// A sandbox in which a process sleeps; the processes below this server's.
    fn sleeping(&mut self) -> Vec<u32> {
        let sandbox = self.tool("create_sandbox", json!({}))["sandbox_id"].clone();
        let job = self.tool("start_job", json!({ "sandbox_id": sandbox, "command": "echo here; sleep 3600" }));
        let poll = json!({ "sandbox_id": sandbox, "job_id": job["job_id"], "wait_ms": 60_000 });
        assert_eq!(self.tool("poll_job", poll)["stdout"], "here\n");
        let below = below(self.child.id());
        assert!(!below.is_empty(), "a sandbox has processes");
        below
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All processes that descend from this one.
fn below(process: u32) -> Vec<u32> {
    let all: Vec<ProcStat> = procfs::processes().collect();
    let mut found = vec![process];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.id));
        at += 1;
    }
    found.remove(0);
    found
}

/// Waits until none of these processes runs.
fn all_gone(processes: &[u32]) {
    let deadline = Instant::now() + PATIENCE;
    while processes.iter().any(|id| ProcStat::read(*id).is_some_and(|process| process.is_alive())) {
        assert!(Instant::now() < deadline, "of {processes:?} some still run");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_end_of_the_input_ends_the_program_and_its_sandboxes() {
    let mut talk = Talk::start("mcp-eof");
    let processes = talk.sleeping();
    // Also while a command is waited for.
    let sandbox = talk.tool("create_sandbox", json!({}))["sandbox_id"].clone();
    let sleep = json!({ "name": "run_command", "arguments": { "sandbox_id": sandbox, "command": "sleep 3600" } });
    talk.say(&json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": sleep }));
    talk.input = None;
    assert!(talk.wait().success());
    all_gone(&processes);
}

#[test]
fn nothing_is_left_in_the_folder_of_a_client() {
    let (folder, home) = (scratch("mcp-client-folder"), scratch("mcp-client-home"));
    let mut command = Command::new(BINARY);
    command.args(["mcp", "--stdio"]).current_dir(&folder).env("HOME", &home);
    command.env_remove("XDG_CACHE_HOME").env_remove("HEARTH_DATA");
    let mut talk = Talk::with(command, &home);
    let made = talk.tool("create_sandbox", json!({ "allowed_hosts": ["pypi.org", "files.pythonhosted.org"] }));
    let sandbox = &made["sandbox_id"];
    let ran = talk.tool("run_command", json!({ "sandbox_id": sandbox, "command": "echo $PIP_INDEX_URL" }));
    assert!(ran["stdout"].as_str().is_some_and(|url| url.contains("pypi")), "packages would be kept: {ran}");
    talk.input = None;
    assert!(talk.wait().success());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn sigterm_ends_the_program_and_its_sandboxes() {
    let mut talk = Talk::start("mcp-sigterm");
    let processes = talk.sleeping();
    assert!(Command::new("kill").arg(talk.child.id().to_string()).status().unwrap().success());
    assert!(talk.wait().success());
    all_gone(&processes);
}

#[test]
fn a_killed_server_leaves_no_sandbox() {
    let mut talk = Talk::start("mcp-sigkill");
    let processes = talk.sleeping();
    talk.child.kill().unwrap();
    all_gone(&processes);
}

fn post(address: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
    let (mut client, body) = (Client::connect(address), body.to_string());
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    client.send(format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\ncontent-length: {length}\r\n{lines}\r\n{body}"
    ));
    client.reply()
}

#[test]
fn over_http_the_token_is_needed_and_pages_are_refused() {
    let mut server = Http::start("mcp-door", &["--mcp-session-idle", "1h"]);
    let bearer = format!("Bearer {TOKEN}");
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let token = ("authorization", bearer.as_str());
    assert_eq!(post(&server.address, &[], &initialize).status, 401);
    assert_eq!(post(&server.address, &[("authorization", "Bearer guess")], &initialize).status, 401);
    assert_eq!(post(&server.address, &[token, ("origin", "http://evil.example")], &initialize).status, 403);
    let begun = post(&server.address, &[token], &initialize);
    assert_eq!(begun.status, 200, "{}", begun.text());
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let create = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "create_sandbox" } });
    assert_eq!(post(&server.address, &[token], &create).status, 400);
    let created = post(&server.address, &[token, ("mcp-session-id", &session)], &create);
    assert_eq!(created.status, 200, "{}", created.text());
    let processes = below(server.program.id());
    server.program.signal("-TERM");
    assert!(server.program.wait().success());
    all_gone(&processes);
}

#[test]
fn the_token_is_made_once_and_kept() {
    let data = scratch("mcp-token-data");
    let arguments = ["mcp", "--http", "127.0.0.1:0", "--data", data.to_str().unwrap(), "--pool-enabled", "false"];
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let program = Program::start("mcp-token", &arguments);
        program.address("MCP on http://");
        tokens.push(std::fs::read_to_string(data.join("mcp.token")).unwrap());
    }
    assert!(tokens[0] == tokens[1] && tokens[0].trim().len() == 48);
}

#[test]
fn as_part_of_a_server_the_operator_sees_all_sandboxes() {
    let folder = scratch("mcp-serve");
    let apps = folder.join("apps");
    std::fs::create_dir_all(&apps).unwrap();
    let config = folder.join("hearth.yaml");
    std::fs::write(&config, "mcp: 127.0.0.1:0\nsandboxes:\n  pool:\n    min_size: 1\n").unwrap();
    let flags = ["serve", apps.to_str().unwrap(), "--config", config.to_str().unwrap(), "--mcp-token", TOKEN];
    let mut server = Server::start(&flags, &[]);
    let line = server.wait_log("MCP on http://");
    let url = line.split_once("MCP on ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    assert_eq!(server.ask_json("GET", "/admin/sandboxes", ""), json!({ "sandboxes": [] }));

    let made = server.ask_json("POST", "/admin/sandboxes", "{\"memory_mib\": 256}");
    let id = made["sandbox_id"].as_str().unwrap();
    let at = |rest: &str| format!("/admin/sandboxes/{id}{rest}");
    let ran = server.ask_json("POST", &at("/exec"), "{\"command\": \"echo $((6 * 7))\"}");
    assert_eq!((&ran["stdout"], &ran["exit_code"]), (&json!("42\n"), &json!(0)));
    let ran = server.ask_json("POST", &at("/exec"), "{\"language\": \"python\", \"code\": \"print(6 * 7)\"}");
    assert_eq!(ran["stdout"], "42\n");
    let bytes: Vec<u8> = (0..=255).collect();
    server.ask_json("PUT", &at("/file?path=/work/bytes"), &bytes);
    assert_eq!(server.ask("GET", &at("/file?path=bytes"), "").body, bytes);
    assert_eq!(server.ask_json("GET", &at("/files"), "")["entries"][0]["name"], "bytes");
    assert_eq!(server.ask("POST", "/admin/sandboxes", "{\"memory_mib\": 1}").status, 400);
    assert_eq!(server.ask("POST", "/admin/sandboxes", "{\"memory\": 256}").status, 400);

    // An agent's is seen too, and an agent does not see ours.
    let (_, address) = url.split_once("//").unwrap();
    let address = address.trim_end_matches("/mcp");
    let bearer = format!("Bearer {TOKEN}");
    let token = ("authorization", bearer.as_str());
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let begun =
        post(address, &[token], &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let tool = |id: u64, name: &str| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } });
        let reply = post(address, &[token, ("mcp-session-id", &session)], &call);
        serde_json::from_slice::<Value>(&reply.body).unwrap()["result"]["structuredContent"].clone()
    };
    tool(2, "create_sandbox");
    assert_eq!(tool(3, "list_sandboxes")["sandboxes"].as_array().unwrap().len(), 1);
    assert_eq!(server.ask_json("GET", "/admin/sandboxes", "")["sandboxes"].as_array().unwrap().len(), 2);

    let metrics = server.ask("GET", "/metrics", "");
    for name in ["hearth_sandboxes 2", "hearth_sandbox_warm_hits_total", "hearth_sandboxes_created_total"] {
        assert!(metrics.text().contains(name), "{name} in {}", metrics.text());
    }
    let health = Client::connect(&server.admin()).get("/health");
    assert_eq!(serde_json::from_slice::<Value>(&health.body).unwrap()["sandboxes"]["status"], "ok");

    let admin = server.admin();
    let command = |arguments: &[&str]| {
        let ended = run(&[&["sandbox", "--admin", &admin, "--admin-token", crate::server::TOKEN], arguments].concat());
        assert!(ended.status.success(), "{arguments:?}: {}", ended.stderr);
        ended.stdout
    };
    let ours = command(&["create"]).trim().to_owned();
    assert_eq!(command(&["exec", "--language", "bash", &ours, "echo from bash"]), "from bash\n");
    assert!(command(&["ls"]).contains(&ours));
    let at_server = ["sandbox", "--admin", &admin, "--admin-token", crate::server::TOKEN];
    let failed = run(&[&at_server[..], &["exec", &ours, "echo oh >&2; exit 3"]].concat());
    assert_eq!((failed.status.code(), failed.stderr.as_str()), (Some(3), "oh\n"), "its exit code is ours");
    let late = run(&[&at_server[..], &["exec", "--timeout", "1s", &ours, "sleep 1000"]].concat());
    assert!(late.status.code() == Some(124) && late.stderr.contains("--timeout"), "{}", late.stderr);
    let (here, back) = (folder.join("bytes"), folder.join("back"));
    std::fs::write(&here, &bytes).unwrap();
    command(&["cp", here.to_str().unwrap(), &format!("{ours}:/work/in/")]);
    command(&["cp", &format!("{ours}:/work/in/bytes"), back.to_str().unwrap()]);
    assert_eq!(std::fs::read(&back).unwrap(), bytes);
    let (tree, copied) = (folder.join("tree"), folder.join("copied"));
    std::fs::create_dir_all(tree.join("deep/er")).unwrap();
    std::fs::write(tree.join("deep/er/bytes"), &bytes).unwrap();
    std::fs::write(tree.join("run"), "#!/bin/sh\necho ran\n").unwrap();
    std::fs::set_permissions(tree.join("run"), PermissionsExt::from_mode(0o755)).unwrap();
    command(&["cp", "-r", tree.to_str().unwrap(), &format!("{ours}:/work/")]);
    assert_eq!(command(&["exec", &ours, "/work/tree/run; ln -s / /work/tree/link"]), "ran\n");
    command(&["cp", "-r", &format!("{ours}:/work/tree"), copied.to_str().unwrap()]);
    assert_eq!(std::fs::read(copied.join("deep/er/bytes")).unwrap(), bytes);
    assert_eq!(std::fs::metadata(copied.join("run")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(std::fs::symlink_metadata(copied.join("link")).is_err(), "links are not copied");
    let lines = "x=21; cd /tmp\necho $((x * 2)) $PWD\nexit 4\n";
    let mut shell = Command::new(BINARY);
    shell.args([&at_server[..], &["shell", &ours]].concat()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let shell = shell.wait_with_output().unwrap();
    assert_eq!((String::from_utf8_lossy(&shell.stdout).as_ref(), shell.status.code()), ("42 /tmp\n", Some(4)));
    command(&["rm", &ours]);
    assert!(!command(&["ls"]).contains(&ours));
    assert!(command(&["stats"]).contains("health      ok"));
    server.ask_json("DELETE", &at(""), "");
    assert_eq!(server.ask("DELETE", &at(""), "").status, 404);

    let processes = below(server.id());
    server.signal("-TERM");
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    all_gone(&processes);
}

#[test]
fn a_server_without_sandboxes_says_how_to_get_some() {
    let folder = scratch("mcp-none");
    let server = Server::start(&["serve", folder.to_str().unwrap()], &[]);
    let refused = server.ask("GET", "/admin/sandboxes", "");
    assert_eq!(refused.status, 409);
    let text = refused.text();
    assert!(text.contains("hearth.yaml") && text.contains("--mcp"), "{text}");
}
