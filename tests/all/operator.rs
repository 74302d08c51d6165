//! `hearth.yaml`: defaults, ceilings and words about single apps, and a file that is wrong.

use crate::folder::{Folder, at_host, eventually, has_line, problems, until_text, warnings};
use crate::server::run;

const ENV: &str = "export default { fetch: (_, env) => Response.json(env) };";
const COUNT: &str = "let count = 0;\nexport default { fetch: () => new Response(String(++count)) };";

#[test]
fn the_operator_decides() {
    let folder = Folder::new("operator");
    for app in ["plain", "own", "named", "greedy"] {
        folder.write(&format!("{app}/index.js"), COUNT);
    }
    folder.write("env/index.js", ENV);
    folder.write("env/manifest.yaml", "env: {A: manifest, B: manifest, C: manifest}\n");
    folder.write("env/.env", "B=dotenv\nC=dotenv\n");
    folder.write("own/manifest.yaml", "maxBodySize: 2kb\nowner: alice\n");
    folder.write("named/manifest.yaml", "maxBodySize: 2kb\nowner: alice\nhosts: [wanted.example.com]\n");
    let greedy =
        "maxBodySize: 1gb\ntimeout: 1h\nmemory: 4gb\ncpu: 1m\nmaxWorkers: 500\nconcurrency: 5000\negress: all\n";
    folder.write("greedy/manifest.yaml", greedy);
    let config = Folder::new("operator-config");
    config.write(
        "hearth.yaml",
        r#"
            max_body_size: 3kb
            egress: none
            domains: [apps.test]
            defaults:
              maxRequests: 2
              maxWorkers: 1
              maxBodySize: 1kb
              env: {A: defaults, D: defaults}
            ceilings:
              timeout: 10s
              memory: 64mb
              cpu: 500ms
              max_workers: 2
              concurrency: 10
            apps:
              named:
                owner: the-operator
                maxBodySize: 8
                hosts: [granted.example.com]
              env:
                env: {C: operator}
        "#,
    );
    let file = config.of("hearth.yaml");
    let server = folder.serve(&["--config", file.to_str().unwrap()]);
    let accepts = |app: &str, bytes: usize| server.post(&format!("/{app}/"), vec![b'x'; bytes]).status != 413;
    for (app, most) in [("plain", 1024), ("own", 2048), ("named", 8), ("greedy", 3072)] {
        assert!(accepts(app, most), "{app} takes {most} bytes");
        assert!(!accepts(app, most + 1), "{app} takes no more than {most} bytes");
    }
    server.expect("/env/", r#"{"A":"manifest","B":"dotenv","C":"operator","D":"defaults"}"#);
    folder.write("later/index.js", COUNT);
    until_text(&server, "/later/", "1");
    let texts = [1, 2, 3].map(|_| server.get("/later/").text().to_owned());
    assert_eq!(texts, ["2", "1", "2"], "a worker has two requests");
    let told = warnings(&server, "greedy");
    for key in ["maxBodySize", "timeout", "memory", "cpu", "maxWorkers", "concurrency", "egress"] {
        has_line(&told, &["greedy/manifest.yaml", key, "beyond the operator's ceiling"]);
        server.wait_log(&format!("{key}: "));
    }
    let owner = |app: &str| server.ask_json("GET", &format!("/admin/apps/{app}"), "")["owner"].clone();
    assert_eq!([owner("plain"), owner("own"), owner("named")], ["plain", "alice", "the-operator"]);
    let at = |host: &str| at_host(&server, host, "/").status;
    assert_eq!([at("granted.example.com"), at("wanted.example.com"), at("plain.apps.test")], [200, 404, 200]);
    assert_eq!(at("plain.localhost"), 404, "other domains were said");
    eventually(&server, "nothing is wrong", || problems(&server).is_empty());
}

#[test]
fn a_hearth_yaml_that_is_wrong_is_not_used() {
    let folder = Folder::new("operator-wrong");
    folder.say("apps/app", "app");
    let apps = folder.of("apps");
    for (text, parts) in [
        ("max_body_sise: 1kb\n", &["hearth.yaml:1:1", "did you mean max_body_size?"][..]),
        ("defaults:\n  timout: 5s\n", &["hearth.yaml:2:3", "defaults.timout", "did you mean timeout?"]),
        ("apps:\n  app:\n    cpu: soon\n", &["hearth.yaml:3:10", "apps.app.cpu", "soon"]),
        ("apps:\n  app:\n    version: 1.0.0\n", &["hearth.yaml:3:5", "apps.app.version"]),
        ("defaults:\n  hosts: [a.example.com]\n", &["hearth.yaml:2:3", "for all apps"]),
        ("ceilings: {memory: much}\n", &["hearth.yaml:1:20", "ceilings.memory", "much"]),
        ("listen: nowhere\n", &["hearth.yaml:1:9", "ADDRESS:PORT"]),
    ] {
        folder.write("hearth.yaml", text);
        let file = folder.of("hearth.yaml");
        let ended = run(&["serve", apps.to_str().unwrap(), "--config", file.to_str().unwrap()]);
        assert!(!ended.status.success(), "{text}");
        has_line(&ended.stderr, parts);
    }
    let missing = folder.of("nowhere.yaml");
    let ended = run(&["serve", apps.to_str().unwrap(), "--config", missing.to_str().unwrap()]);
    assert!(!ended.status.success());
    has_line(&ended.stderr, &["nowhere.yaml"]);
}
