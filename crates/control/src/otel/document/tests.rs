use super::*;
use crate::otel::spans;

const PERIOD: Period = Period { start: 1, now: 2 };

fn attribute<'a>(of: &'a Json, key: &str) -> &'a Json {
    let all = of["attributes"].as_array().expect("there are attributes");
    all.iter().find(|one| one["key"] == key).map_or(&Json::Null, |one| &one["value"])
}

#[test]
fn metrics_of_each_kind_are_written() {
    let point = |value| Point { labels: vec![("app", "a\"b".to_owned())], value };
    let family = |name, kind, value| Family { name, kind, help: "What it is.", points: vec![point(value)] };
    let times = HistogramCounts { counts: vec![1, 0, 2], microseconds: 700 };
    let families = [
        family("hearth_requests_total", Kind::Counter, Value::Number(7.0)),
        family("hearth_heap_bytes", Kind::Gauge, Value::Number(1.5)),
        family("hearth_request_seconds", Kind::Histogram, Value::Times(times)),
    ];
    let sent = metrics("shop", &families, PERIOD);
    let resource = &sent["resourceMetrics"][0];
    assert_eq!(attribute(&resource["resource"], "service.name")["stringValue"], "shop");
    let all = &resource["scopeMetrics"][0]["metrics"];

    let (counter, gauge, histogram) = (&all[0], &all[1], &all[2]);
    assert_eq!((&counter["name"], &counter["unit"]), (&json!("hearth_requests"), &json!("1")));
    assert_eq!((&counter["sum"]["isMonotonic"], &counter["sum"]["aggregationTemporality"]), (&json!(true), &json!(2)));
    let counted = &counter["sum"]["dataPoints"][0];
    assert_eq!((&counted["asDouble"], &counted["startTimeUnixNano"]), (&json!(7.0), &json!("1")));
    assert_eq!(attribute(counted, "app")["stringValue"], "a\"b");

    assert_eq!((&gauge["name"], &gauge["unit"]), (&json!("hearth_heap"), &json!("By")));
    assert_eq!(gauge["gauge"]["dataPoints"][0]["timeUnixNano"], "2");

    assert_eq!((&histogram["name"], &histogram["unit"]), (&json!("hearth_request"), &json!("s")));
    let times = &histogram["histogram"]["dataPoints"][0];
    assert_eq!((&times["count"], &times["sum"]), (&json!("3"), &json!(0.0007)));
    let length = |key: &str| times[key].as_array().map(Vec::len);
    assert_eq!((length("bucketCounts"), length("explicitBounds")), (Some(BOUNDS.len() + 1), Some(BOUNDS.len())));
    assert_eq!((&times["bucketCounts"][2], &times["explicitBounds"][0]), (&json!("2"), &json!(0.0001)));
}

#[test]
fn requests_are_written_as_spans() {
    let good = Span { parent_id: Some("00f067aa0ba902b7".to_owned()), ..spans::span(7) };
    let bad = Span { status: Some(502), app: None, url: "http://h".to_owned(), ..spans::span(8) };
    let gone = Span { status: None, fault: Some("client_gone".to_owned()), ..spans::span(9) };
    let sent = traces("hearth", &[good, bad, gone]);
    let all = &sent["resourceSpans"][0]["scopeSpans"][0]["spans"];

    let good = &all[0];
    assert_eq!((&good["traceId"], &good["spanId"]), (&json!(format!("{:032x}", 7)), &json!(format!("{:016x}", 7))));
    assert_eq!((&good["parentSpanId"], &good["name"]), (&json!("00f067aa0ba902b7"), &json!("GET shop")));
    assert_eq!(
        (&good["startTimeUnixNano"], &good["endTimeUnixNano"]),
        (&json!("1700000000000000000"), &json!("1700000000005000000"))
    );
    assert_eq!(attribute(good, "url.path")["stringValue"], "/shop/cart");
    assert_eq!(attribute(good, "server.address")["stringValue"], "localhost:8080");
    assert_eq!(attribute(good, "http.response.status_code")["intValue"], "200");
    assert_eq!((&good["status"]["code"], attribute(good, "error.type")), (&json!(0), &Json::Null));

    let bad = &all[1];
    assert_eq!((&bad["parentSpanId"], &bad["name"], &bad["status"]["code"]), (&Json::Null, &json!("GET"), &json!(2)));
    assert_eq!(attribute(bad, "error.type")["stringValue"], "502");
    assert_eq!(attribute(bad, "url.path")["stringValue"], "/");
    assert_eq!(
        (&all[2]["status"]["code"], attribute(&all[2], "error.type")["stringValue"].as_str()),
        (&json!(2), Some("client_gone"))
    );
}
