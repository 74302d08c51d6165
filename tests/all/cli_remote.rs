//! Commands that ask a running server: what they print, and the exit codes that scripts go by.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::folder::{Folder, at_host, says, until_text};
use crate::program::Program;
use crate::server::{Ended, Server, TOKEN, run};

/// Runs a command against the server.
fn ask(server: &Server, arguments: &[&str]) -> Ended {
    run(&[arguments, &["--admin", &server.admin(), "--admin-token", TOKEN]].concat())
}

/// What a command prints that must succeed.
#[track_caller]
fn told(server: &Server, arguments: &[&str]) -> String {
    let ended = ask(server, arguments);
    assert!(ended.status.success(), "{arguments:?}: {}{}; the log:\n{}", ended.stdout, ended.stderr, server.log());
    ended.stdout
}

#[track_caller]
fn told_json(server: &Server, arguments: &[&str]) -> Value {
    let text = told(server, &[arguments, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

/// Ends with this exit code, nothing on standard output, and all of `parts` in what it says.
#[track_caller]
fn assert_ends(ended: &Ended, exit: i32, parts: &[&str]) {
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(exit), ""), "{}", ended.stderr);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
}

/// An app to be deployed, and a server that has none.
fn nothing(name: &str) -> (Folder, Server) {
    let folder = Folder::with(name, &[("shop/index.js", &says("one")), ("served/.keep", "")]);
    let server = Server::start(&["serve", folder.of("served").to_str().unwrap()], &[]);
    (folder, server)
}

#[test]
fn an_app_is_deployed_changed_and_taken_back() {
    let (folder, server) = nothing("cli-deploy");
    assert_eq!(told(&server, &["apps"]), "no apps\n");
    let shop = folder.of("shop");
    let shop = shop.to_str().unwrap();
    assert_ends(&ask(&server, &["deploy", shop]), 2, &["no version", "--version"]);
    let text = told(&server, &["deploy", shop, "--version", "1.0.0", "--owner", "me"]);
    assert!(text.starts_with("shop@1.0.0 (revision 1, 1 file, ") && text.ends_with(") is active: /shop/\n"), "{text}");
    server.expect("/shop/", "one");

    folder.say("shop", "two");
    folder.write("shop/manifest.yaml", "version: 2.0.0\n");
    let text = told(&server, &["deploy", shop, "--no-activate"]);
    assert!(text.contains("is served: /shop@2.0.0/; /shop/ is still 1.0.0"), "{text}");
    server.expect("/shop/", "one");
    server.expect("/shop@2/", "two");
    assert_eq!(told(&server, &["activate", "shop", "2"]), "shop@2.0.0 is active\n");
    server.expect("/shop/", "two");
    assert_eq!(told(&server, &["rollback", "shop"]), "shop@1.0.0 (revision 1) is active again\n");
    server.expect("/shop/", "one");

    let apps = told(&server, &["apps"]);
    let expected = "\
NAME  ACTIVE  VERSIONS      STATE   SOURCE  OWNER
shop  1.0.0   1.0.0, 2.0.0  served  upload  ";
    assert!(apps.starts_with(expected), "{apps}");
    assert!(told(&server, &["apps", "shop"]).contains("\n2.0.0    -       worker  served  upload  1 of 1"));
    assert_eq!(told_json(&server, &["apps", "shop"])["active"], "1.0.0");

    assert_ends(&ask(&server, &["delete", "shop"]), 2, &["--yes"]);
    assert_eq!(told(&server, &["delete", "shop", "--version", "2.0.0", "--yes"]), "deleted shop: 2.0.0\n");
    assert_eq!(told_json(&server, &["delete", "shop", "--yes"])["deleted"][0], "1.0.0");
    server.get("/shop/").assert_error(404, "no_app", &[]);
}

#[test]
fn what_cannot_be_served_is_refused_and_shown() {
    let (folder, server) = nothing("cli-refused");
    let shop = folder.of("shop");
    let deploy = || ask(&server, &["deploy", shop.to_str().unwrap(), "--version", "1.0.0"]);
    folder.write("shop/index.js", "let a = ;");
    assert_ends(&deploy(), 6, &["bad_upload", "/index.js:1:9: ", "  1 | let a = ;\n    |         ^"]);
    folder.write("shop/manifest.yaml", "timout: 5s");
    assert_ends(&deploy(), 1, &["manifest.yaml:1:1: timout: unknown key: did you mean timeout?"]);
    assert_eq!(told_json(&server, &["apps"])["apps"], Value::Array(Vec::new()));
    assert_ends(&ask(&server, &["deploy", "/nowhere"]), 1, &["/nowhere"]);
}

#[test]
fn a_deploy_says_what_came_of_it() {
    let (folder, server) = nothing("cli-outcome");
    let shop = folder.of("shop");
    let deploy = || ask(&server, &["deploy", shop.to_str().unwrap(), "--version", "1.0.0"]);
    folder.write("shop/manifest.yaml", "hosts: [shop.example.com]\n");
    let ended = deploy();
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: shop@1.0.0: ") && ended.stderr.contains("hosts"), "{}", ended.stderr);

    // It can be read, and fails when it runs.
    folder.write("shop/index.js", "throw new Error('no luck');");
    let ended = deploy();
    assert_eq!(ended.status.code(), Some(6), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("(revision 2, ") && ended.stdout.contains("is active: /shop/"), "{}", ended.stdout);
    for part in ["shop@1.0.0 is active, and fails to load", "no luck", "hearth rollback shop"] {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
    let lines = told_json(&server, &["logs", "shop"]);
    let failed = lines["lines"].as_array().unwrap().iter().find(|line| line["message"] == "App failed to load");
    let failed = failed.unwrap_or_else(|| panic!("{lines}"));
    assert_eq!(
        (&failed["level"], &failed["version"], &failed["request"]),
        (&"error".into(), &"1.0.0".into(), &Value::Null)
    );
    told(&server, &["rollback", "shop"]);
    server.expect("/shop/", "one");
}

#[test]
fn a_deploy_without_paths_says_the_host() {
    let folder = Folder::with("cli-hosts", &[("shop/index.js", &says("one")), ("served/.keep", "")]);
    folder.write("hearth.yaml", "paths: false\ndomains: [apps.example]\n");
    let (served, config) = (folder.of("served"), folder.of("hearth.yaml"));
    let server = Server::start(&["serve", served.to_str().unwrap(), "--config", config.to_str().unwrap()], &[]);
    let text = told(&server, &["deploy", folder.of("shop").to_str().unwrap(), "--version", "1.0.0"]);
    assert!(text.ends_with(") is active: shop.apps.example/\n"), "{text}");
    assert_eq!(at_host(&server, "shop.apps.example", "/").text(), "one");
    assert_eq!(server.get("/shop/").status, 404);
}

#[test]
fn the_configuration_says_where_the_server_is() {
    let folder = Folder::with("cli-place", &[("apps/hello/index.js", &says("hello"))]);
    let (apps, data) = (folder.of("apps"), folder.of("state"));
    let arguments = ["serve", apps.to_str().unwrap(), "--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let server = Program::start("cli-place", &[&arguments[..], &["--admin", "127.0.0.1:0"]].concat());
    let admin = server.address("Admin API on http://");
    server.wait_log("Listening on ");
    folder.write("hearth.yaml", format!("admin: {admin}\ndata: state\n"));
    let apps = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        let output = command.arg("apps").current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (exit, said) = apps();
    assert!(exit == Some(0) && said.contains("hello"), "{said}");
    folder.write("hearth.yaml", "amdin: off\n");
    let (exit, said) = apps();
    assert!(exit == Some(1) && said.contains("hearth.yaml:1:1: amdin: unknown key: did you mean admin?"), "{said}");
}

#[test]
fn exit_codes_say_what_went_wrong() {
    let (folder, server) = nothing("cli-exits");
    // Port 1 has no listener.
    let gone = run(&["apps", "--admin", "127.0.0.1:1", "--admin-token", TOKEN]);
    assert_ends(&gone, 3, &["no server answers at 127.0.0.1:1", "hearth serve", "--admin"]);
    let admin = server.admin();
    assert_ends(&run(&["apps", "--admin", &admin, "--admin-token", "wrong"]), 4, &["token", "HEARTH_ADMIN_TOKEN"]);
    let nowhere = run(&["apps", "--admin", &admin, "--data", "/nowhere"]);
    assert_ends(&nowhere, 4, &["no admin token in /nowhere", "--data"]);
    assert_ends(&ask(&server, &["apps", "missing"]), 5, &["no_app", "missing"]);
    assert_ends(&ask(&server, &["secrets", "list", "missing"]), 5, &["no_app"]);
    assert_ends(&ask(&server, &["activate", "shop", "not a version"]), 6, &["not a version"]);
    assert_ends(&ask(&server, &["drain"]), 2, &["--yes"]);
    assert_ends(&ask(&server, &["deploy", folder.of("served").to_str().unwrap()]), 2, &["holds no app", "index.ts"]);
    let shop = folder.of("shop");
    let named = ask(&server, &["deploy", shop.to_str().unwrap(), "--name", "My App", "--version", "1.0.0"]);
    assert_ends(&named, 2, &["\"My App\" cannot be the name of an app", "--name"]);
    told(&server, &["deploy", shop.to_str().unwrap(), "--version", "1.0.0"]);
    assert_ends(&ask(&server, &["logs", "nothing"]), 5, &["there is no app nothing"]);
    for command in [&["logs", "shpo"][..], &["logs", "shpo", "-f"], &["apps", "shpo"], &["rollback", "shpo"]] {
        assert_ends(&ask(&server, command), 5, &["there is no app shpo: did you mean shop?"]);
    }
    // The other listener of the same server is none of the admin API's.
    let public = run(&["pool", "--admin", server.address(), "--admin-token", TOKEN]);
    assert_ends(&public, 3, &[server.address(), "is where the server's apps are", "--admin"]);
}

#[test]
fn the_token_is_found_where_the_server_keeps_it() {
    let folder = Folder::with("cli-token", &[("apps/hello/index.js", &says("hello"))]);
    let (apps, data) = (folder.of("apps"), folder.of("data"));
    let (apps, data) = (apps.to_str().unwrap(), data.to_str().unwrap());
    let server = Program::start(
        "cli-token",
        &["serve", apps, "--data", data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    );
    let admin = server.address("Admin API on http://");
    let ended = run(&["apps", "--admin", &format!("http://{admin}/"), "--data", data]);
    assert!(ended.status.success() && ended.stdout.contains("hello"), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn secrets_go_one_way() {
    let app = "export default { fetch: (request, env) => new Response(env.API_KEY ?? 'none') };";
    let folder = Folder::with("cli-secrets", &[("vault/index.js", app)]);
    let server = folder.serve(&[]);
    server.expect("/vault/", "none");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    command.args(["secrets", "set", "vault", "API_KEY", "--admin", &server.admin()]).env("HEARTH_ADMIN_TOKEN", TOKEN);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"quiet as a mouse\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success() && said == "set API_KEY of vault\n", "{said}");
    server.expect("/vault/", "quiet as a mouse");
    assert_eq!(told(&server, &["secrets", "list", "vault"]), "API_KEY\n");
    told(&server, &["secrets", "set", "vault", "API_KEY", "--value", "another"]);
    server.expect("/vault/", "another");
    told(&server, &["secrets", "delete", "vault", "API_KEY"]);
    server.expect("/vault/", "none");
    assert_ends(&ask(&server, &["secrets", "delete", "vault", "API_KEY"]), 5, &["API_KEY"]);
}

#[test]
fn tokens_are_shown_once() {
    let folder =
        Folder::with("cli-tokens", &[("club/index.js", &says("welcome")), ("club/manifest.yaml", "auth: token\n")]);
    let server = folder.serve(&[]);
    assert_eq!(server.get("/club/").status, 401);
    let ended = ask(&server, &["tokens", "add", "club", "--label", "me"]);
    assert!(ended.status.success(), "{}", ended.stderr);
    let bearer = format!("Bearer {}", ended.stdout.trim_end());
    let mut client = server.connect();
    client.start("GET", "/club/", &[("authorization", &bearer)]);
    assert_eq!(client.reply().text(), "welcome");
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    folder.say("open", "hello");
    until_text(&server, "/open/", "hello");
    let unasked = ask(&server, &["tokens", "add", "open"]);
    assert!(unasked.stderr.contains("warning: open asks for no tokens") && unasked.stderr.contains("auth: token"));
    let listed = told(&server, &["tokens", "list", "club"]);
    assert!(listed.contains("me") && !listed.contains(ended.stdout.trim_end()), "{listed}");
    let id = told_json(&server, &["tokens", "list", "club"])["tokens"][0]["id"].as_str().unwrap().to_owned();
    told(&server, &["tokens", "delete", "club", &id]);
    assert_eq!(told(&server, &["tokens", "list", "club"]), "no tokens\n");
}

#[test]
fn tasks_answer_or_fail() {
    let app = "export default { task({ payload }) { if (payload === 'bad') throw new Error('no such work'); \
               return { did: payload }; } };";
    let folder = Folder::with("cli-task", &[("work/index.js", app)]);
    let server = folder.serve(&[]);
    assert_eq!(told(&server, &["task", "work", r#"["a"]"#]), "{\n  \"did\": [\n    \"a\"\n  ]\n}\n");
    assert_ends(&ask(&server, &["task", "work", r#""bad""#]), 1, &["the task failed", "no such work"]);
    assert_ends(&ask(&server, &["task", "work", "{"]), 6, &["not JSON"]);
}

#[test]
fn the_server_is_seen_from_all_sides() {
    let app = "console.log('one\\u001b[2J\\ntwo'); export default { fetch: () => new Response('hello') };";
    let folder = Folder::with("cli-state", &[("hello/index.js", app)]);
    let server = folder.serve(&["--workers", "1"]);
    server.expect("/hello/", "hello");
    server.wait_log("two");
    let workers = told(&server, &["workers"]);
    assert!(workers.lines().nth(1).unwrap().starts_with("hello  latest "), "{workers}");
    assert!(told(&server, &["pool"]).starts_with("workers     "));
    assert!(told(&server, &["metrics"]).contains("\nrequests       "));
    assert!(told_json(&server, &["metrics"])["totalRequests"].is_u64());
    assert!(told(&server, &["metrics", "--prometheus"]).contains("\nhearth_apps 1\n"));
    assert_eq!(told(&server, &["crashes"]), "no crashes\n");
    let logs = told(&server, &["logs", "hello"]);
    assert!(logs.contains("one\\u{1b}[2J\\ntwo") && !logs.contains('\u{1b}'), "{logs}");
    assert_eq!(told_json(&server, &["logs", "hello", "-n", "1"])["lines"][0]["app"], "hello");
}

#[test]
fn logs_and_events_are_followed_until_the_server_ends() {
    let app =
        "export default { fetch: (request) => { console.log(`asked ${request.url}`); return new Response(''); } };";
    let folder = Folder::with("cli-follow", &[("hello/index.js", app)]);
    let mut server = folder.serve(&[]);
    let admin = server.admin();
    let follow = |name: &str, command: &[&str]| {
        Program::start(name, &[command, &["--admin", &admin, "--admin-token", TOKEN]].concat())
    };
    server.get("/hello/first");
    server.wait_log("/first");
    let mut logs = follow("cli-follow-logs", &["logs", "hello", "--follow"]);
    let mut lines = follow("cli-follow-lines", &["logs", "hello", "-f", "--json"]);
    let mut events = follow("cli-follow-events", &["events", "-f"]);
    logs.wait_output("/first");
    lines.wait_output("/first");
    events.wait_output("catalogue_changed");
    server.get("/hello/second");
    logs.wait_output("/second");
    let line: Value = serde_json::from_str(&lines.wait_output("/second")).unwrap();
    assert_eq!(line["app"], "hello");
    folder.say("more", "more");
    events.wait_output("apps=2");
    // Without it, what there is, and that is all.
    let kept = told(&server, &["events"]);
    assert!(kept.lines().filter(|line| line.contains("catalogue_changed apps=")).count() >= 2, "{kept}");
    assert_eq!(told_json(&server, &["events"])["events"][0]["event"], "catalogue_changed");
    assert_eq!(told(&server, &["drain", "--undo"]).trim(), "requests are let in again");
    ask(&server, &["drain", "--yes"]);
    for program in [&mut logs, &mut lines, &mut events] {
        program.wait();
    }
    assert!(server.wait().0.success());
}

/// Terminates TLS in front of `to`, with a certificate that signs itself. Returns its port and the certificate in PEM.
fn tls_proxy(to: String) -> (u16, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = async move {
        let listener = TcpListener::from_std(listener).unwrap();
        loop {
            let (client, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate ends the handshake.
            let Ok(mut client) = acceptor.accept(client).await else { continue };
            let mut server = TcpStream::connect(&to).await.unwrap();
            // Either side may end without a goodbye.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime.block_on(serve));
    (port, cert.pem())
}

#[test]
fn a_server_behind_tls_is_trusted_by_its_authority_only() {
    let (folder, server) = nothing("cli-https");
    let (port, pem) = tls_proxy(server.admin());
    folder.write("ca.pem", &pem);
    folder.write("broken.pem", "no certificate");
    let (ca, broken) = (folder.of("ca.pem"), folder.of("broken.pem"));
    let admin = format!("https://localhost:{port}");
    let ask = |arguments: &[&str]| run(&[arguments, &["--admin", &admin, "--admin-token", TOKEN]].concat());
    assert_ends(&ask(&["apps"]), 3, &["no secure connection", "--cafile", "HEARTH_CA_FILE"]);
    let cafile = ["--cafile", ca.to_str().unwrap()];
    let listed = ask(&[&["apps"], &cafile[..]].concat());
    assert_eq!((listed.status.code(), listed.stdout.as_str()), (Some(0), "no apps\n"), "{}", listed.stderr);
    let shop = folder.of("shop");
    let deployed = ask(&[&["deploy", shop.to_str().unwrap(), "--version", "1.0.0"], &cafile[..]].concat());
    assert!(deployed.status.success(), "{}", deployed.stderr);
    server.expect("/shop/", "one");
    assert_ends(&ask(&["apps", "--cafile", broken.to_str().unwrap()]), 2, &["broken.pem", "PEM"]);
    assert_ends(&ask(&["apps", "--cafile", "/no/such.pem"]), 1, &["/no/such.pem"]);
}
