//! What manifests and `.env` say: what is right counts, what is wrong is told where it stands.

use crate::folder::{Folder, has_line, problems, until_problem, warnings};

const ENV: &str = "export default { fetch: (_, env) => Response.json(env) };";

/// A manifest, where in it something is wrong, and what is said about it.
const WRONG: [(&str, &str, &[&str]); 24] = [
    ("timeuot: 5s", "1:1", &["timeuot", "did you mean timeout?"]),
    ("env: {}\n\nidle_timeout: 5s", "3:1", &["idle_timeout", "did you mean idleTimeout?"]),
    ("colour: red", "1:1", &["colour", "unknown key", "timeout"]),
    ("timeout: abc", "1:10", &["timeout", "abc"]),
    ("timeout: -1", "1:10", &["timeout", "-1"]),
    ("timeout: 5 minutes", "1:10", &["timeout", "5 minutes"]),
    ("ttl: [1]", "1:6", &["ttl", "list"]),
    ("memory: 10m", "1:9", &["memory", "10m"]),
    ("maxBodySize: -1", "1:14", &["maxBodySize", "-1"]),
    ("ttl: 5s\ntimeout: 30s", "1:1", &["ttl (5s) is shorter than timeout (30s)"]),
    ("ttl: 5s", "1:1", &["ttl (5s) is shorter than timeout (30s)"]),
    ("execution: fast", "1:12", &["execution", "pooled"]),
    ("auth: tokens", "1:7", &["auth", "did you mean token?"]),
    ("rateLimit: lots", "1:12", &["rateLimit", "100/1m"]),
    ("maxWorkers: 0", "1:13", &["maxWorkers"]),
    ("entrypoint: ../other/index.js", "1:13", &["entrypoint"]),
    ("entrypoint: /etc/passwd", "1:13", &["entrypoint"]),
    ("static: ../../..", "1:9", &["static"]),
    ("hosts: ['http://example.com']", "1:9", &["hosts[0]", "http://example.com"]),
    ("crons: ['61 * * * *']", "1:9", &["crons[0]", "61"]),
    ("egress: everywhere at all", "1:9", &["egress"]),
    ("publicRoutes: {FETCH: [/]}", "1:16", &["publicRoutes", "FETCH"]),
    ("env: {A: {B: c}}", "1:10", &["env.A"]),
    ("timeout: 5s\n  memory: [", "2:", &["YAML"]),
];

#[test]
fn what_is_wrong_in_a_manifest_is_told_where_it_stands() {
    let folder = Folder::new("wrong");
    folder.say("good", "good");
    for (at, (manifest, ..)) in WRONG.iter().enumerate() {
        folder.say(&format!("app{at}"), "never");
        folder.write(&format!("app{at}/manifest.yaml"), manifest);
    }
    folder.write("no-entry/manifest.yaml", "entrypoint: gone.js\n");
    folder.write("no-code/manifest.yaml", "timeout: 5s\n");
    folder.say("dotenv", "never");
    folder.write("dotenv/.env", "A=1\nB='open\n");
    let server = folder.serve(&[]);
    let told = problems(&server);
    for (at, (manifest, place, parts)) in WRONG.iter().enumerate() {
        let place = format!("app{at}/manifest.yaml:{place}");
        let line = told.lines().find(|line| line.contains(&place)).unwrap_or_else(|| panic!("{manifest:?}:\n{told}"));
        has_line(line, parts);
        server.get(&format!("/app{at}/")).assert_error(404, "no_app", &[]);
    }
    has_line(&told, &["no-entry/manifest.yaml", "entrypoint", "gone.js"]);
    has_line(&told, &["no-code", "index.ts", "entrypoint:"]);
    has_line(&told, &["dotenv/.env:2"]);
    server.expect("/good/", "good");
    let log = server.log();
    assert_eq!(log.matches("did you mean idleTimeout?").count(), 1, "{log}");
    // Two in one file are both told.
    folder.write("app0/manifest.yaml", "timeuot: 1\nmemry: 2\n");
    until_problem(&server, &["timeuot"]);
    until_problem(&server, &["app0/manifest.yaml:2:1", "did you mean memory?"]);
}

#[test]
fn an_app_has_its_own_env_and_no_secrets_by_accident() {
    let folder = Folder::new("env");
    let manifest = "env:\n  GREETING: hello\n  NUMBER: 5\n  YES: true\n  DATABASE_URL: postgres://x\n  MY_TOKEN: t\n";
    folder.write("app/index.js", ENV);
    folder.write("app/manifest.yaml", manifest);
    let dotenv =
        "# A comment.\nexport GREETING=\"from the file\"\nEMPTY=\nQUOTED='a b # c'\nAWS_REGION=eu\napi_key=k\n";
    folder.write("app/.env", dotenv);
    folder.write("bare/index.js", ENV);
    folder.write("elsewhere/index.js", ELSEWHERE);
    let server = folder.serve(&[]);
    let seen = r#"{"EMPTY":"","GREETING":"from the file","NUMBER":"5","QUOTED":"a b # c","YES":"true"}"#;
    server.expect("/app/", seen);
    server.expect("/bare/", "{}");
    let kept = ["AWS_REGION", "DATABASE_URL", "MY_TOKEN", "api_key"];
    has_line(&warnings(&server, "app"), &[&["hearth secrets set"][..], &kept].concat());
    // A secret is the way.
    server.ask_json("PUT", "/admin/apps/bare/secrets/DATABASE_URL", "postgres://secret");
    server.expect("/bare/", r#"{"DATABASE_URL":"postgres://secret"}"#);
    server.expect("/app/", seen);
    // Told once, with the names and without the values.
    let log = server.log();
    assert_eq!(log.matches("hearth secrets set").count(), 1, "{log}");
    assert!(!log.contains("postgres://"), "{log}");
    // There is no other way to an environment or a file of the server.
    let reply = server.get("/elsewhere/");
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(!reply.text().contains("not for apps") && !reply.text().contains("root:"), "{}", reply.text());
    for (what, result) in serde_json::from_slice::<serde_json::Value>(&reply.body).unwrap().as_object().unwrap() {
        assert!(result.as_str().is_some_and(|result| result.starts_with("no: ")), "{what}: {result}");
    }
}

/// Every way that an app might try to get at what is not its own.
const ELSEWHERE: &str = r#"
    const ways = {
      process: () => {
        // The app's own environment, and no more.
        const others = Object.keys(process.env).filter((name) => name !== "NODE_ENV" && name !== "PORT");
        if (others.length === 0) throw new Error("nothing of the server's");
        return others;
      },
      environ: () => fetch("file:///proc/self/environ").then((response) => response.text()),
      passwd: () => fetch("file:///etc/passwd").then((response) => response.text()),
      module: () => import("/proc/self/environ").then((module) => Object.keys(module).join()),
      climb: () => import("../../../../../../../../etc/passwd").then(() => "imported"),
      url: () => import("file:///etc/passwd").then(() => "imported"),
      fs: () => import("node:fs").then((fs) => fs.readFileSync("/etc/passwd", "utf8")),
      file: () => Hearth.file("/proc/self/environ").text(),
      above: () => Hearth.file("../app/.env").text(),
      neighbour: () => import("../app/index.js").then(() => "imported"),
    };
    export default {
      async fetch() {
        const results = {};
        for (const [name, way] of Object.entries(ways)) {
          try { results[name] = await way(); } catch (error) { results[name] = "no: " + error.name; }
        }
        return Response.json(results);
      },
    };
"#;
