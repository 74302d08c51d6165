use super::*;

fn all() -> Vec<Action> {
    let name = || "@scope/a b%2F?".to_owned();
    vec![
        Action::Pool,
        Action::Workers,
        Action::Metrics,
        Action::Prometheus,
        Action::Crashes,
        Action::Apps,
        Action::App { name: "plain".to_owned() },
        Action::App { name: name() },
        Action::Upload { name: name(), version: "1.0.0+b".to_owned(), owner: Some("o&p".to_owned()) },
        Action::Upload { name: name(), version: "1.0.0".to_owned(), owner: None },
        Action::Activate { name: name(), version: "1.0.0".to_owned() },
        Action::Rollback { name: name() },
        Action::Delete { name: name(), version: Some("1".to_owned()) },
        Action::Delete { name: name(), version: None },
        Action::Task { name: name(), payload: "{\"a\":1}".to_owned() },
        Action::Secrets { name: name() },
        Action::SetSecret { name: name(), key: "KEY".to_owned(), value: "v".to_owned() },
        Action::DeleteSecret { name: name(), key: "K/Y".to_owned() },
        Action::Tokens { name: name() },
        Action::AddToken { name: name(), label: "for ci".to_owned() },
        Action::DeleteToken { name: name(), id: "7".to_owned() },
        Action::Logs { app: Some(name()), lines: 5, follow: Follow::Yes },
        Action::Logs { app: None, lines: 100, follow: Follow::No },
        Action::Events { follow: Follow::Yes },
        Action::Events { follow: Follow::No },
        Action::Reload,
        Action::Drain,
        Action::UndoDrain,
        Action::Sandbox(SandboxAction::Show { id: name() }),
        Action::Replace,
        Action::Cordons,
        Action::Cordon { owner: "some/body".into() },
        Action::Release { owner: "@some body".into() },
        Action::Upgrade,
    ]
}

#[test]
fn actions_round_trip_through_requests() {
    for action in all() {
        let call = action.call();
        let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
        let mut routed = Action::route(&call.method, path, &QueryParams::parse(query).expect("it can be decoded"));
        if let (Ok(action), Some(body)) = (&mut routed, call.body.clone()) {
            assert!(action.wants_body());
            action.set_body(body);
        }
        assert_eq!(routed, Ok(action), "{call:?}");
    }
}

#[test]
fn the_slash_of_a_scoped_name_may_be_encoded() {
    for path in ["/admin/apps/@scope/name/rollback", "/admin/apps/%40scope%2Fname/rollback"] {
        let routed = Action::route(&Method::Post, path, &QueryParams::parse("").expect("it is empty"));
        assert_eq!(routed, Ok(Action::Rollback { name: "@scope/name".to_owned() }), "{path}");
    }
}

#[test]
fn a_request_that_is_no_action_is_an_error_with_its_reason() {
    let read = |method: Method, address: &str| {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        Action::route(&method, path, &QueryParams::parse(query).expect("it can be decoded"))
            .expect_err("it is none")
            .to_string()
    };
    for (method, address, text) in [
        (Method::Get, "/admin/nothing", "there is no /admin/nothing"),
        (Method::Get, "/elsewhere", "there is no /elsewhere"),
        (Method::Post, "/admin/pool", "use GET"),
        (Method::Get, "/admin/drain", "use POST"),
        (Method::Post, "/admin/apps?name=a", "`version` is missing"),
        (Method::Post, "/admin/apps/a/activate", "`version` is missing"),
        (Method::Get, "/admin/apps/a/secrets/B", "use PUT, DELETE"),
        (Method::Get, "/admin/logs?lines=many", "use a number"),
        (Method::Get, "/admin/apps/%ff", "there is no"),
        (Method::Delete, "/admin/apps/a?versoin=1", "no parameter `versoin`"),
    ] {
        let said = read(method, address);
        assert!(said.contains(text), "{address}: {said}");
    }
}

#[test]
fn a_query_that_cannot_be_decoded_is_an_error() {
    let error = QueryParams::parse("version=9.9.9%").expect_err("a percent sign alone");
    assert!(error.to_string().contains("%25"), "{error}");
}
