#![allow(clippy::unwrap_used)]
use std::time::Duration;

use hearth_core::failure::LoadFailure;
use hearth_core::{ByteSize, LimitExceeded};

use super::*;

fn ask(failure: &Failure, prefers_html: bool, errors: ErrorDetail) -> (u16, Option<String>, String) {
    let id = IdText::parse(b"id-1").unwrap();
    let response = error_response(failure, ErrorFormat { id: &id, prefers_html }, errors, &FailureLog::new());
    let retry = response.headers.get("retry-after").map(|v| String::from_utf8(v.to_vec()).unwrap());
    let Body::Full(body) = response.body else { panic!("errors have bodies") };
    (response.status, retry, String::from_utf8(body.to_vec()).unwrap())
}

#[test]
fn every_cause_has_its_status_and_code() {
    let cpu = LimitExceeded::time(LimitKind::Cpu, Duration::from_millis(1100), Duration::from_secs(1));
    let wall = LimitExceeded::time(LimitKind::Wall, Duration::from_secs(31), Duration::from_secs(30));
    let module = LimitExceeded::time(LimitKind::ModuleCpu, Duration::from_secs(3), Duration::from_secs(2));
    let heap = LimitExceeded::memory(LimitKind::Heap, ByteSize::mb(129), ByteSize::mb(128));
    for (failure, status, code, retries) in [
        (Failure::NoApp, 404, "no_app", false),
        (Failure::NoVersion { app: "a".into(), range: "^2".into() }, 404, "no_version", false),
        (Failure::BadRange { message: "x".into() }, 400, "bad_range", false),
        (Failure::NotFound, 404, "not_found", false),
        (Failure::MethodNotAllowed { method: "PUT".into(), allow: "GET, HEAD" }, 405, "method_not_allowed", false),
        (Failure::Unauthorized, 401, "unauthorized", false),
        (Failure::RateLimited { retry_after: Duration::from_millis(20) }, 429, "rate_limited", true),
        (Failure::NoHandler { event: "fetch" }, 501, "no_handler", false),
        (Failure::Load(LoadFailure::NeverSettled), 502, "load_failed", false),
        (Failure::App { message: "x".into() }, 502, "app_failed", false),
        (Failure::Limit(cpu), 503, "limit_cpu", false),
        (Failure::Limit(heap), 503, "limit_heap", false),
        (Failure::Limit(wall), 504, "limit_wall", false),
        (Failure::Limit(module), 502, "limit_module_cpu", false),
        (Failure::Collateral(cpu), 503, "collateral", true),
        (Failure::Stuck, 503, "stuck", true),
        (Failure::Capacity { reason: "queue full" }, 503, "no_capacity", true),
        (Failure::Cordoned { retry_after: Duration::from_millis(20) }, 503, "cordoned", true),
        (Failure::Draining, 503, "draining", true),
        (Failure::Internal { message: "x".into() }, 500, "internal", false),
    ] {
        let (got, retry, body) = ask(&failure, false, ErrorDetail::Brief);
        assert_eq!((got, retry.as_deref()), (status, retries.then_some("1")), "{failure:?}");
        assert!(body.starts_with(&format!(r#"{{"error":{{"code":"{code}","message":""#)), "{body}");
        assert!(body.ends_with(r#"","request_id":"id-1"}}"#), "{body}");
    }
}

#[test]
fn some_causes_have_a_hint() {
    let hint = |failure: Failure, name| {
        let id = IdText::parse(b"id-1").unwrap();
        let asker = ErrorFormat { id: &id, prefers_html: false };
        let response = error_response(&failure, asker, ErrorDetail::Brief, &FailureLog::new());
        String::from_utf8(response.headers.get(name).unwrap().to_vec()).unwrap()
    };
    assert_eq!(hint(Failure::Unauthorized, "www-authenticate"), "Bearer");
    let method = Failure::MethodNotAllowed { method: "PUT".into(), allow: "GET, HEAD" };
    assert_eq!(hint(method, "allow"), "GET, HEAD");
    for (retry_after, seconds) in
        [(Duration::ZERO, "1"), (Duration::from_secs(7), "7"), (Duration::from_millis(7001), "8")]
    {
        assert_eq!(hint(Failure::RateLimited { retry_after }, "retry-after"), seconds);
    }
}

#[test]
fn limits_are_named_and_app_messages_are_hidden() {
    let cpu = LimitExceeded::time(LimitKind::Cpu, Duration::from_millis(1100), Duration::from_secs(1));
    assert!(ask(&Failure::Limit(cpu), false, ErrorDetail::Brief).2.contains("--cpu"));
    let app = Failure::App { message: "password is hunter2".into() };
    assert!(!ask(&app, false, ErrorDetail::Brief).2.contains("hunter2"));
    assert!(ask(&app, false, ErrorDetail::Detailed).2.contains("hunter2"));
    let internal = Failure::Internal { message: "slot 7".into() };
    assert!(!ask(&internal, false, ErrorDetail::Brief).2.contains("slot 7"));
}

#[test]
fn messages_are_escaped() {
    let app = Failure::App { message: "<script>\"a\\b\"\n\u{1}'&é</script>".into() };
    let json = ask(&app, false, ErrorDetail::Detailed).2;
    assert!(json.contains(r#"<script>\"a\\b\"\n\u0001'&é</script>"#), "{json}");
    let html = ask(&app, true, ErrorDetail::Detailed).2;
    assert!(html.contains("&lt;script&gt;&quot;a\\b&quot;\n\u{1}&#39;&amp;é&lt;/script&gt;"), "{html}");
}
