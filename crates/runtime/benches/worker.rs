//! What a worker costs: isolates, cold starts with and without the code cache, warm calls, memory.
//! Run by hand (`cargo bench -p hearth-runtime`); prints p50 and p99, asserts nothing.

#![allow(clippy::unwrap_used)]

#[path = "../tests/support/one_module.rs"]
#[allow(dead_code)]
mod one_module;

use std::time::{Duration, Instant};

use hearth_core::ByteSize;
use hearth_runtime::{Isolate, Platform, Snapshot, Worker};
use one_module::{app, request};

const HELLO: &str = "export default { fetch() { return new Response('Hello, World!'); } };";
const ASYNC: &str = "export default { async fetch(request) { await 1; return new Response(request.url); } };";
const JSON: &str = "export default { async fetch(request) {
  const body = await request.json(); body.added = 'by worker'; return Response.json(body); } };";

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
    println!("{what:<52} min {:>10.3?}  p50 {:>10.3?}  p99 {:>10.3?}", at(0.0), at(0.5), at(0.99));
}

fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn main() {
    let platform = Platform::init().unwrap();
    let started = Instant::now();
    let snapshot = Snapshot::make(platform).unwrap();
    println!("snapshot: {} KiB, made in {:.1?}", snapshot.bytes().len() / 1024, started.elapsed());
    let snapshot = Snapshot::from_static(Box::leak(snapshot.bytes().to_vec().into_boxed_slice()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async move { tokio::spawn(benches(platform, snapshot)).await.unwrap() });
}

async fn benches(platform: Platform, snapshot: Snapshot) {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    let heap = ByteSize::mb(128);
    // As in a server: V8 sets up what isolates share with the first and takes it down with the last.
    let _first = Isolate::new(platform, &snapshot, heap);
    report(
        "isolate from the snapshot, made and dropped",
        (0..100).map(|_| time(&mut || drop(Isolate::new(platform, &snapshot, heap)))).collect(),
    );

    for (name, cache) in [("without", ByteSize(0)), ("with", ByteSize::mb(8))] {
        let app = app(HELLO, cache);
        let mut times = Vec::new();
        for _ in 0..100 {
            let start = Instant::now();
            let worker = Worker::start(platform, &snapshot, app.clone()).await.unwrap();
            worker.fetch(request(b"")).await.unwrap();
            times.push(start.elapsed());
        }
        report(&format!("cold start and first request, {name} code cache"), times);
    }

    let payload: &[u8] = br#"{"id":1,"name":"a name","tags":["a","b","c"],"nested":{"x":1,"y":[1,2,3]}}"#;
    for (name, code, body) in
        [("hello", HELLO, &b""[..]), ("async, reads url", ASYNC, b""), ("JSON echo, 76 bytes", JSON, payload)]
    {
        let worker = Worker::start(platform, &snapshot, app(code, heap)).await.unwrap();
        for _ in 0..50_000 {
            worker.fetch(request(body)).await.unwrap();
        }
        let mut times = Vec::new();
        for _ in 0..200 {
            let start = Instant::now();
            for _ in 0..1000 {
                worker.fetch(request(body)).await.unwrap();
            }
            times.push(start.elapsed() / 1000);
        }
        report(&format!("warm request inside the process: {name}"), times);
    }

    let shared = app(HELLO, heap);
    let before = resident();
    let mut workers = Vec::new();
    for _ in 0..100 {
        let worker = Worker::start(platform, &snapshot, shared.clone()).await.unwrap();
        worker.fetch(request(b"")).await.unwrap();
        workers.push(worker);
    }
    println!("{:<52} {:.2} MiB", "memory of a worker after its first request", (resident() - before) / 100.0);
}
