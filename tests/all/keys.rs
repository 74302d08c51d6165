//! Secrets and tokens of apps: they count from the next request on, for their app alone, and are never read back.

use serde_json::{Value, json};

use crate::folder::{Folder, ask, says};

#[test]
fn secrets_are_seen_by_their_app_and_never_read_back() {
    let shows = "export default { fetch: (request, env) => Response.json(env) };";
    let folder = Folder::with(
        "deploys-secrets",
        &[
            ("one/index.js", shows),
            ("one/manifest.yaml", "env: { PLAIN: plain, API_URL: old }\n"),
            ("two/index.js", shows),
        ],
    );
    let server = folder.serve(&[]);
    let env = |app: &str| -> Value { serde_json::from_slice(&server.get(&format!("/{app}/")).body).unwrap() };
    assert_eq!(env("one"), json!({ "PLAIN": "plain", "API_URL": "old" }));
    let secret = "s3cret \"value\" \u{1f511}";
    assert_eq!(server.ask_json("PUT", "/admin/apps/one/secrets/API_KEY", secret), json!({ "set": "API_KEY" }));
    server.ask_json("PUT", "/admin/apps/one/secrets/API_URL", "new");
    assert_eq!(env("one"), json!({ "PLAIN": "plain", "API_URL": "new", "API_KEY": secret }));
    assert_eq!(env("two"), json!({}));
    assert_eq!(server.ask_json("GET", "/admin/apps/one/secrets", ""), json!({ "secrets": ["API_KEY", "API_URL"] }));
    server.ask("GET", "/admin/apps/one/secrets/API_KEY", "").assert_error(405, "method_not_allowed", &["PUT, DELETE"]);
    for name in ["1ST", "A=B", "A%20B"] {
        server.ask("PUT", &format!("/admin/apps/one/secrets/{name}"), "x").assert_error(400, "invalid_argument", &[]);
    }
    server.ask_json("PUT", "/admin/apps/one/secrets/API_KEY", "ch4nged");
    assert_eq!(env("one")["API_KEY"], "ch4nged");
    server.ask_json("DELETE", "/admin/apps/one/secrets/API_KEY", "");
    server.ask_json("DELETE", "/admin/apps/one/secrets/API_URL", "");
    assert_eq!(env("one"), json!({ "PLAIN": "plain", "API_URL": "old" }));
    for said in [server.log(), server.ask("GET", "/admin/apps", "").text().to_owned()] {
        assert!(!said.contains("s3cret") && !said.contains("ch4nged"), "{said}");
    }
}

#[test]
fn tokens_work_from_the_next_request_on() {
    let folder = Folder::with(
        "deploys-tokens",
        &[
            ("app/index.js", &says("inside")),
            ("app/manifest.yaml", "auth: token\npublicRoutes: [/open]\n"),
            ("other/index.js", &says("other")),
            ("other/manifest.yaml", "auth: token\n"),
        ],
    );
    let server = folder.serve(&[]);
    let with = |app: &str, token: &str| {
        let value = format!("Bearer {token}");
        ask(&server, "GET", &format!("/{app}/"), &[("authorization", &value)])
    };
    server.get("/app/").assert_error(401, "unauthorized", &[]);
    server.expect("/app/open", "inside");
    let made = server.ask("POST", "/admin/apps/app/tokens?label=for+the+tests", "");
    assert_eq!(made.status, 201);
    let made: Value = serde_json::from_slice(&made.body).unwrap();
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert_eq!(with("app", token).text(), "inside");
    assert_eq!(with("other", token).status, 401, "a token is for one app");
    assert_eq!(with("app", "guess").status, 401);
    let listed = server.ask("GET", "/admin/apps/app/tokens", "");
    assert!(!listed.text().contains(token), "a token is shown once");
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    assert_eq!((&listed["tokens"][0]["id"], &listed["tokens"][0]["label"]), (&json!(id), &json!("for the tests")));
    server.ask_json("DELETE", &format!("/admin/apps/app/tokens/{id}"), "");
    assert_eq!(with("app", token).status, 401);
    assert_eq!(server.ask_json("GET", "/admin/apps/app/tokens", ""), json!({ "tokens": [] }));
}
