//! A registry of packages of the test's own, in the place of those of the world: one package for pip, one for npm.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use hearth_egress::{Addresses, EgressPolicy, Resolve};
use hearth_sandbox::{PackageConfig, PoolConfig, Registries};

/// Every name is this machine.
pub struct Dns;

impl Resolve for Dns {
    fn resolve<'a>(&'a self, _: &'a str) -> Addresses<'a> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
    }
}

/// A registry of both kinds with one package each.
pub struct Registry {
    pub port: u16,
    /// By path.
    asked: Arc<Mutex<HashMap<String, usize>>>,
}

const WHEEL: &str = "hearth_greeting-1.0-py3-none-any.whl";

/// Makes the packages, and says what their pages say about them.
fn make_packages(folder: &Path) -> (String, String) {
    let code = r#"
import base64, hashlib, io, json, sys, tarfile, zipfile
folder, wheel = sys.argv[1:]
info = 'hearth_greeting-1.0.dist-info'
with zipfile.ZipFile(f'{folder}/{wheel}', 'w') as z:
    z.writestr('hearth_greeting.py', "hello = 'from the wheel'\n")
    z.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\nName: hearth-greeting\nVersion: 1.0\n')
    z.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    z.writestr(f'{info}/RECORD', f'hearth_greeting.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n')
with tarfile.open(f'{folder}/greeting.tgz', 'w:gz') as t:
    for name, text in (('package.json', json.dumps({'name': '@hearth/greeting', 'version': '1.0.0', 'main': 'main.js'})),
                       ('main.js', "module.exports = 'from the tarball';\n")):
        entry = tarfile.TarInfo('package/' + name)
        entry.size = len(text)
        t.addfile(entry, io.BytesIO(text.encode()))
read = lambda name: open(f'{folder}/{name}', 'rb').read()
print(hashlib.sha256(read(wheel)).hexdigest())
print('sha512-' + base64.b64encode(hashlib.sha512(read('greeting.tgz')).digest()).decode())
"#;
    let made = Command::new("python3").args(["-c", code]).arg(folder).arg(WHEEL).output().unwrap();
    let said = String::from_utf8(made.stdout).unwrap();
    let (wheel, tarball) =
        said.trim().split_once('\n').unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&made.stderr)));
    (wheel.to_owned(), tarball.to_owned())
}

impl Registry {
    pub fn start(folder: &Path) -> Self {
        let (sha256, integrity) = make_packages(folder);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let files = format!("http://registry.test:{port}/real");
        let page = format!(r#"<!DOCTYPE html><a href="{files}/packages/aa/{WHEEL}#sha256={sha256}">{WHEEL}</a>"#);
        let tarball = format!("http://registry.test:{port}/npm/@hearth/greeting/-/greeting-1.0.0.tgz");
        let version = serde_json::json!({
            "name": "@hearth/greeting", "version": "1.0.0", "dist": { "tarball": tarball, "integrity": integrity }
        });
        let about = serde_json::json!({
            "name": "@hearth/greeting", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version }
        });
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        let answers = HashMap::from([
            ("/simple/hearth-greeting/".to_owned(), ("text/html", page.into_bytes())),
            (format!("/real/packages/aa/{WHEEL}"), ("application/octet-stream", read(WHEEL))),
            ("/npm/@hearth%2fgreeting".to_owned(), ("application/json", about.to_string().into_bytes())),
            (
                "/npm/@hearth/greeting/-/greeting-1.0.0.tgz".to_owned(),
                ("application/octet-stream", read("greeting.tgz")),
            ),
        ]);
        let asked = Arc::new(Mutex::new(HashMap::new()));
        let counted = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(&stream).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let (status, kind, body) = match answers.get(&path) {
                    Some((kind, body)) => ("200 OK", *kind, body.clone()),
                    None => ("404 Not Found", "text/plain", Vec::new()),
                };
                *counted.lock().unwrap().entry(path).or_insert(0) += 1;
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                // A client that closes the connection has what it wanted.
                let _ = (&stream).write_all(&[head.into_bytes(), body].concat());
            }
        });
        Self { port, asked }
    }

    pub fn asked(&self, end: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|(path, _)| path.ends_with(end)).map(|(_, count)| count).sum()
    }

    /// The same pool, whose sandboxes get their packages here. Files are kept in `folder`.
    pub fn supplies(&self, config: PoolConfig, folder: &Path) -> PoolConfig {
        let at = |rest: &str| format!("http://registry.test:{}{rest}", self.port);
        let registries = Registries { pypi: at(""), pypi_files: at("/real"), npm: at("/npm") };
        let packages = PackageConfig { folder: Some(folder.to_owned()), registries, ..PackageConfig::default() };
        PoolConfig { packages, dns: Arc::new(Dns), egress: EgressPolicy::all(), ..config }
    }
}
