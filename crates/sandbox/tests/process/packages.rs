//! Packages, with real pip and npm in sandboxes and a registry of the test's own: what two sandboxes install is fetched once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hearth_egress::{Addresses, EgressPolicy, Resolve};
use hearth_sandbox::{
    ExecRequest, NetworkPolicy, PackageConfig, PoolConfig, Registries, Sandbox, SandboxConfig, SandboxPool,
};

use crate::{driver, out, pool_config, sh};

/// Every name is this machine.
struct Dns;

impl Resolve for Dns {
    fn resolve<'a>(&'a self, _: &'a str) -> Addresses<'a> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
    }
}

/// A registry of both kinds with one package each.
struct Registry {
    port: u16,
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
    fn start(folder: &Path) -> Self {
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
                // Who hangs up has what it wanted.
                let _ = (&stream).write_all(&[head.into_bytes(), body].concat());
            }
        });
        Self { port, asked }
    }

    fn asked(&self, end: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|(path, _)| path.ends_with(end)).map(|(_, count)| count).sum()
    }

    fn pool(&self, folder: &Path) -> SandboxPool {
        let at = |rest: &str| format!("http://registry.test:{}{rest}", self.port);
        let registries = Registries { pypi: at(""), pypi_files: at("/real"), npm: at("/npm") };
        let packages = PackageConfig { folder: Some(folder.to_owned()), registries, ..PackageConfig::default() };
        SandboxPool::new(PoolConfig {
            packages,
            dns: Arc::new(Dns),
            egress: EgressPolicy::all(),
            ..pool_config(driver())
        })
    }
}

async fn with_hosts(pool: &SandboxPool, host: &str) -> Sandbox {
    let network = NetworkPolicy::allow_list([host]).unwrap();
    pool.acquire(&SandboxConfig::builder().network(network).build().unwrap()).await.unwrap()
}

async fn installs(sandbox: &Sandbox) {
    let line = "pip install --user --no-input hearth-greeting >/tmp/pip 2>&1 || cat /tmp/pip; \
                npm install --no-fund @hearth/greeting >/tmp/npm 2>&1 || cat /tmp/npm ~/.npm/_logs/*; \
                python3 -c 'import hearth_greeting; print(hearth_greeting.hello)'; \
                node -e \"console.log(require('@hearth/greeting'))\"";
    let request = ExecRequest { timeout: Some(Duration::from_secs(300)), ..ExecRequest::shell(line) };
    let result = sandbox.exec(request).await.unwrap();
    assert_eq!(out(&result), "from the wheel\nfrom the tarball\n", "{}", String::from_utf8_lossy(&result.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_sandboxes_install_is_fetched_once() {
    let (made, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = Registry::start(made.path());
    let host = format!("registry.test:{}", registry.port);
    let pool = registry.pool(kept.path());
    let (one, other) = (with_hosts(&pool, &host).await, with_hosts(&pool, &host).await);
    installs(&one).await;
    installs(&other).await;
    assert_eq!((registry.asked(".whl"), registry.asked(".tgz")), (1, 1));
    // Nothing but packages, and nothing that says where it came from.
    let ask = |url: &str| {
        format!("python3 -c \"import urllib.request as r; print(r.urlopen('{url}').status)\" 2>&1 | tail -1")
    };
    for url in [
        "http://pypi.hearth.internal/simple/none/",
        "http://npm.hearth.internal/-/v1/search",
        "http://pypi.hearth.internal/files/%2e%2e/a",
    ] {
        assert!(out(&sh(&one, &ask(url)).await).contains("404"), "{url}");
    }
    assert_eq!(out(&sh(&one, "grep -c hearth.internal package-lock.json").await), "0\n");
    drop((one, other));
    pool.shutdown().await;
    // The next server has them, too.
    let pool = registry.pool(kept.path());
    let sandbox = with_hosts(&pool, &host).await;
    installs(&sandbox).await;
    assert_eq!((registry.asked(".whl"), registry.asked(".tgz")), (1, 1));
    // Who may not reach a registry does not get it from here.
    let elsewhere = with_hosts(&pool, "elsewhere.test").await;
    assert_eq!(out(&sh(&elsewhere, "echo $PIP_INDEX_URL$npm_config_registry").await), "\n");
    let refused = out(&sh(&elsewhere, &ask("http://pypi.hearth.internal/simple/hearth-greeting/")).await);
    assert!(refused.contains("403"), "{refused}");
    drop((sandbox, elsewhere));
    pool.shutdown().await;
}
