//! A Firecracker that only plays. It takes the requests of the published contract in the order in which a real one can take
//! them, with the fields that it must have and no others, and refuses all else; it saves and loads snapshots through the files
//! that it is told; and it carries what comes over its vsock to an agent that runs elsewhere.
//!
//! It finds a script where a kernel should be (and, restored, where its state should be): what to do wrong, and when. And it
//! looks around before it begins: where walls are missing it does not begin.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hearth_sandbox_agent::{AgentReply, AgentRequest, FrameDecoder, encode};
use serde_json::{Value, json};

use crate::http::{only, read, refusal, text};

const MARK: &[u8] = b"the guest's memory";

pub fn play(arguments: &[String]) -> ExitCode {
    if arguments[1..] == ["--version"] {
        println!("Firecracker v1.12.0\n\nSupported snapshot data format versions: v6.0.0");
        return ExitCode::SUCCESS;
    }
    assert_eq!(arguments[1..], ["--api-sock", "/run/api.sock", "--id", "hearth"]);
    look_around();
    let text = fs::read_to_string("/proc/self/fd/3").unwrap();
    let script: Value = serde_json::from_str(&text).unwrap();
    let script = script.get("script").cloned().unwrap_or(script);
    let agents = Path::new(&arguments[0]).with_file_name("agents.sock");
    if is(&script, "start", "die") {
        eprintln!("dying of start");
        return ExitCode::FAILURE;
    }
    let listener = UnixListener::bind("/run/api.sock").unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut fake = Fake { script, agents, state: State::Fresh, open: Arc::default() };
    fake.serve(stream);
    // Its only client is gone: so it waits to be killed, as one does whose guest runs.
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn is(script: &Value, at: &str, what: &str) -> bool {
    script["at"] == at && script["do"] == what
}

/// The walls, from inside.
fn look_around() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let has = |line: &str| assert!(status.lines().any(|is| is == line), "{line} is not in {status}");
    ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"].iter().for_each(|line| has(line));
    assert_eq!(std::process::id(), 1, "it sees no other process");
    assert!(Command::new("/proc/self/exe").arg("--version").status().is_err(), "it starts no program");
    assert!(TcpListener::bind("127.0.0.1:0").is_err(), "it has no network");
    for path in ["/etc/passwd", "/root", "/home", "/usr/bin/env", "/bin/sh"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
    for path in ["/file", "/usr/lib/file", "/dev/file"] {
        assert!(File::create(path).is_err(), "{path} can be written");
    }
    // A user that is not root and may not use KVM outside may not use it here. Root's monitors run
    // as users that exist nowhere else.
    let users = fs::read_to_string("/proc/self/uid_map").unwrap();
    let is_roots = users.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap() >= 1_900_000_000;
    if is_roots && Path::new("/dev/kvm").exists() {
        OpenOptions::new().read(true).write(true).open("/dev/kvm").unwrap();
    }
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Fresh,
    Sized { megabytes: u64 },
    Sourced { megabytes: u64 },
    Connected { megabytes: u64, path: PathBuf },
    Running { megabytes: u64, path: PathBuf },
    Paused { megabytes: u64, path: PathBuf },
    Saved,
}

struct Fake {
    script: Value,
    agents: PathBuf,
    state: State,
    /// Connections to agents, which a snapshot ends.
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Fake {
    fn serve(&mut self, stream: UnixStream) {
        let mut from = BufReader::new(stream.try_clone().unwrap());
        let mut to = stream;
        while let Some((request, body)) = read(&mut from) {
            let answer = match self.script["at"] == request.as_str() {
                true => self.misbehave(&request),
                false => match self.answer(&request, &body) {
                    Ok(()) => "HTTP/1.1 204 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n\r\n".to_owned(),
                    Err(why) => refusal(&why),
                },
            };
            to.write_all(answer.as_bytes()).unwrap();
        }
    }

    fn misbehave(&self, request: &str) -> String {
        match self.script["do"].as_str().unwrap() {
            "refuse" => refusal("not today"),
            "garbage" => "SSH-2.0-OpenSSH_9.2\r\n".to_owned(),
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(60));
            },
            "die" => {
                eprintln!("dying of {request}");
                std::process::exit(1);
            }
            other => panic!("{other}"),
        }
    }

    fn answer(&mut self, request: &str, body: &Value) -> Result<(), String> {
        self.state = match (request, self.state.clone()) {
            ("PUT /machine-config", State::Fresh) => {
                only(body, &["mem_size_mib", "vcpu_count"])?;
                let cpus = body["vcpu_count"].as_u64().filter(|cpus| *cpus == 1 || cpus % 2 == 0 && *cpus <= 32);
                cpus.ok_or("vcpu_count")?;
                State::Sized { megabytes: body["mem_size_mib"].as_u64().ok_or("mem_size_mib")? }
            }
            ("PUT /boot-source", State::Sized { megabytes }) => {
                only(body, &["boot_args", "initrd_path", "kernel_image_path"])?;
                File::open(text(body, "kernel_image_path")?).map_err(|error| error.to_string())?;
                let initrd = fs::read(text(body, "initrd_path")?).map_err(|error| error.to_string())?;
                let has = |needle: &[u8]| initrd.windows(needle.len()).any(|part| part == needle);
                if !initrd.starts_with(b"070701") || !has(b"exec /agent --port=vsock:52\n") {
                    return Err("the initrd is none".to_owned());
                }
                if !text(body, "boot_args")?.contains("reboot=k") {
                    return Err("a guest that ends would not end Firecracker".to_owned());
                }
                State::Sourced { megabytes }
            }
            ("PUT /vsock", State::Sourced { megabytes }) => {
                only(body, &["guest_cid", "uds_path"])?;
                body["guest_cid"].as_u64().filter(|cid| (3..u64::from(u32::MAX)).contains(cid)).ok_or("guest_cid")?;
                let path = PathBuf::from(text(body, "uds_path")?);
                State::Connected { megabytes, path }
            }
            ("PUT /actions", State::Connected { megabytes, path }) => {
                if *body != json!({ "action_type": "InstanceStart" }) {
                    return Err("not that action".to_owned());
                }
                // A guest that boots does not listen at once.
                self.run(&path, 2);
                State::Running { megabytes, path }
            }
            ("PATCH /vm", State::Running { megabytes, path }) => {
                if *body != json!({ "state": "Paused" }) {
                    return Err("not that state".to_owned());
                }
                State::Paused { megabytes, path }
            }
            ("PUT /snapshot/create", State::Paused { megabytes, path }) => {
                only(body, &["mem_file_path", "snapshot_path", "snapshot_type"])?;
                if body["snapshot_type"] != "Full" {
                    return Err("not that type".to_owned());
                }
                self.save(body, megabytes, &path).map_err(|error| error.to_string())?;
                State::Saved
            }
            ("PUT /snapshot/load", State::Fresh) => {
                only(body, &["mem_backend", "resume_vm", "snapshot_path"])?;
                if body["resume_vm"] != true || body["mem_backend"]["backend_type"] != "File" {
                    return Err("neither resumed nor a file".to_owned());
                }
                self.load(body)?
            }
            (request, state) => return Err(format!("{request} cannot be asked of {state:?}")),
        };
        Ok(())
    }

    fn save(&self, body: &Value, megabytes: u64, path: &Path) -> std::io::Result<()> {
        let name = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        let mut state = OpenOptions::new().create(true).write(true).truncate(true).open(name("snapshot_path"))?;
        state
            .write_all(json!({ "script": self.script, "path": path, "megabytes": megabytes }).to_string().as_bytes())?;
        state.sync_all()?;
        let mut memory = OpenOptions::new().create(true).truncate(false).write(true).open(name("mem_file_path"))?;
        memory.set_len(megabytes << 20)?;
        memory.write_all(MARK)?;
        memory.sync_all()?;
        // The vsock device is reset.
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        Ok(())
    }

    fn load(&self, body: &Value) -> Result<State, String> {
        let state = fs::read(text(body, "snapshot_path")?).map_err(|error| error.to_string())?;
        let state: Value = serde_json::from_slice(&state).map_err(|error| error.to_string())?;
        let path = body["mem_backend"]["backend_path"].as_str().ok_or("backend_path")?;
        let memory = File::open(path).map_err(|error| error.to_string())?;
        let megabytes = state["megabytes"].as_u64().ok_or("megabytes")?;
        let mut mark = vec![0; MARK.len()];
        (&memory).read_exact(&mut mark).map_err(|error| error.to_string())?;
        if mark != MARK || memory.metadata().is_ok_and(|meta| meta.len() != megabytes << 20) {
            return Err("that is not the memory".to_owned());
        }
        // Others begin with the same memory.
        for path in [path, text(body, "snapshot_path")?] {
            let written = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(b"mine"));
            if written.is_ok() {
                return Err(format!("{path} can be changed"));
            }
        }
        let path = PathBuf::from(text(&state, "path")?);
        self.run(&path, 0);
        Ok(State::Running { megabytes, path })
    }

    /// Listens for connections to the guest; refuses the first few.
    fn run(&self, path: &Path, refused: u32) {
        let listener = UnixListener::bind(path).unwrap();
        let (script, agents, open) = (self.script.clone(), self.agents.clone(), self.open.clone());
        let turned_away = AtomicU32::new(0);
        std::thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                let mut line = Vec::new();
                let mut byte = [0];
                while line.last() != Some(&b'\n') && (&stream).read(&mut byte).unwrap() == 1 {
                    line.push(byte[0]);
                }
                assert_eq!(line, b"CONNECT 52\n");
                if turned_away.fetch_add(1, Ordering::Relaxed) < refused {
                    continue;
                }
                match script["at"] == "CONNECT" {
                    true if script["do"] == "garbage" => (&stream).write_all(b"ERROR no such port\n").unwrap(),
                    true => open.lock().unwrap().push(stream),
                    false => {
                        (&stream).write_all(b"OK 1073741824\n").unwrap();
                        open.lock().unwrap().push(stream.try_clone().unwrap());
                        carry(stream, &agents);
                    }
                }
            }
        });
    }
}

/// Between a client and an agent. What only a guest may do, setting a clock, is done for it: the agent is not in one.
fn carry(client: UnixStream, agents: &Path) {
    let agent = UnixStream::connect(agents).unwrap();
    let (mut back, mut answers) = (agent.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut answers);
        let _ = answers.shutdown(std::net::Shutdown::Both);
    });
    std::thread::spawn(move || {
        let mut decoder = FrameDecoder::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = (&client).read(&mut buffer).unwrap_or(0);
            if count == 0 {
                break;
            }
            decoder.push(&buffer[..count]);
            while let Some(request) = decoder.message::<AgentRequest>().unwrap() {
                let mut bytes = Vec::new();
                let sent = match &request {
                    AgentRequest::SetClock { id, .. } | AgentRequest::Reseed { id, .. } => {
                        encode(&AgentReply::Done { id: *id }, &mut bytes).unwrap();
                        (&client).write_all(&bytes)
                    }
                    request => {
                        encode(request, &mut bytes).unwrap();
                        (&agent).write_all(&bytes)
                    }
                };
                if sent.is_err() {
                    break;
                }
            }
        }
        let _ = agent.shutdown(std::net::Shutdown::Both);
    });
}
