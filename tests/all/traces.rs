//! Numbers and traces, sent to a collector of OpenTelemetry's: a small one of the test's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::{Folder, ask, eventually};
use crate::server::{PATIENCE, Server, serve_folder};

const APP: &str = "export default { fetch: (request) => new Response(request.headers.get('traceparent') ?? 'none', \
                   { status: Number(new URL(request.url).searchParams.get('status') ?? 200) }) };";

/// Takes what it is sent, and keeps it.
#[derive(Clone)]
struct Collector {
    address: String,
    taken: Arc<(Mutex<Vec<Document>>, Condvar)>,
}

struct Document {
    path: String,
    head: String,
    body: Value,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = Self { address: listener.local_addr().unwrap().to_string(), taken: Arc::default() };
        let collector = this.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let collector = collector.clone();
                std::thread::spawn(move || collector.serve(stream));
            }
        });
        this
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
            }
            let length = head.to_ascii_lowercase();
            let length = length.split_once("content-length: ").unwrap().1.split("\r\n").next().unwrap().to_owned();
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let body = serde_json::from_slice(&body).unwrap();
            self.taken.0.lock().unwrap().push(Document { path, head, body });
            self.taken.1.notify_all();
            writer
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
                .unwrap();
        }
    }

    /// What `find` finds in something that was sent to `path`, when it has come.
    #[track_caller]
    fn wait<T>(&self, server: &Server, path: &str, find: impl Fn(&Document) -> Option<T>) -> T {
        let (taken, changed) = &*self.taken;
        let deadline = Instant::now() + PATIENCE;
        let mut taken = taken.lock().unwrap();
        loop {
            if let Some(found) = taken.iter().filter(|one| one.path == path).find_map(&find) {
                return found;
            }
            assert!(Instant::now() < deadline, "it never came to {path}; the log:\n{}", server.log());
            taken = changed.wait_timeout(taken, Duration::from_secs(1)).unwrap().0;
        }
    }

    #[track_caller]
    fn span(&self, server: &Server, is_it: impl Fn(&Value) -> bool) -> Value {
        self.wait(server, "/otlp/v1/traces", |document| {
            let spans = document.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
            spans.iter().find(|span| is_it(span)).cloned()
        })
    }
}

fn attribute(of: &Value, key: &str) -> String {
    let all = of["attributes"].as_array().unwrap();
    let value = all.iter().find(|one| one["key"] == key).map(|one| &one["value"]);
    let text = value.and_then(|value| value["stringValue"].as_str().or_else(|| value["intValue"].as_str()));
    text.unwrap_or_default().to_owned()
}

fn folder(name: &str, endpoint: &str, more: &str) -> Folder {
    let yaml = format!("otel:\n  endpoint: http://{endpoint}/otlp/\n  interval: 200ms\n{more}");
    Folder::with(name, &[("apps/shop/index.js", APP), ("hearth.yaml", &yaml)])
}

fn serve(folder: &Folder) -> Server {
    serve_folder(&folder.of("apps"), &["--config", folder.of("hearth.yaml").to_str().unwrap()])
}

#[test]
fn requests_are_spans_and_numbers_are_sent() {
    let collector = Collector::start();
    let folder = folder("traces", &collector.address, "  headers: { authorization: Bearer it }\n  service: the-shop\n");
    let server = serve(&folder);

    let reply = ask(&server, "GET", "/shop/cart?card=swordfish", &[("x-request-id", "mine"), ("user-agent", "tests")]);
    let (trace, span) = (reply.text()[3..35].to_owned(), reply.text()[36..52].to_owned());
    assert!(reply.text().starts_with("00-") && reply.text().ends_with("-01"), "{}", reply.text());
    let sent = collector.span(&server, |span| attribute(span, "hearth.request_id") == "mine");
    assert_eq!((sent["traceId"].as_str(), sent["spanId"].as_str()), (Some(&*trace), Some(&*span)));
    assert_eq!((sent["name"].as_str(), &sent["parentSpanId"]), (Some("GET shop"), &Value::Null));
    for (key, value) in [
        ("url.path", "/shop/cart"),
        ("http.response.status_code", "200"),
        ("hearth.app", "shop"),
        ("user_agent.original", "tests"),
        ("client.address", "127.0.0.1"),
    ] {
        assert_eq!(attribute(&sent, key), value, "{key}: {sent}");
    }
    assert!(!sent.to_string().contains("swordfish"), "the query is private: {sent}");
    assert!(sent["endTimeUnixNano"].as_str() >= sent["startTimeUnixNano"].as_str());

    // A trace of the client's goes on.
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let reply = ask(&server, "GET", "/shop/?status=503", &[("traceparent", parent), ("x-request-id", "theirs")]);
    assert!(reply.text().starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && reply.text() != parent);
    let sent = collector.span(&server, |span| attribute(span, "hearth.request_id") == "theirs");
    assert_eq!((sent["parentSpanId"].as_str(), sent["status"]["code"].as_u64()), (Some("00f067aa0ba902b7"), Some(2)));
    // Unless it is not recorded.
    let unrecorded = parent.replace("-01", "-00");
    assert_eq!(ask(&server, "GET", "/shop/", &[("traceparent", &unrecorded)]).text(), unrecorded);

    let (head, resource) = collector.wait(&server, "/otlp/v1/metrics", |document| {
        let resource = &document.body["resourceMetrics"][0];
        let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let requests = metrics.iter().find(|metric| metric["name"] == "hearth_requests")?;
        let points = requests["sum"]["dataPoints"].as_array().unwrap();
        let counted = |point: &&Value| attribute(point, "status") == "200" && attribute(point, "app") == "shop";
        points.iter().find(counted).filter(|point| point["asDouble"].as_f64() >= Some(2.0))?;
        metrics.iter().find(|metric| metric["name"] == "hearth_request" && metric["unit"] == "s")?;
        Some((document.head.to_ascii_lowercase(), resource["resource"].clone()))
    });
    assert!(head.contains("authorization: bearer it\r\n") && head.contains("content-type: application/json"), "{head}");
    assert_eq!(attribute(&resource, "service.name"), "the-shop");
}

#[test]
fn a_collector_that_is_down_costs_no_request() {
    // There is no listener any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let folder = folder("traces-down", &gone, "");
    let server = serve(&folder);
    for _ in 0..20 {
        assert_eq!(server.get("/shop/").status, 200);
    }
    server.wait_log("export failed");
    let dropped =
        || server.ask("GET", "/metrics", "").text().lines().any(|line| line == "hearth_spans_dropped_total 20");
    eventually(&server, "what is lost is counted", dropped);

    // Traces can be turned off while it runs, and the app gets no header then.
    folder.write("hearth.yaml", "threads: 1\n");
    server.ask_json("POST", "/admin/reload", "");
    // The cell before was told to leave, and may have taken one more by then.
    eventually(&server, "no header", || server.get("/shop/").text() == "none");
}
