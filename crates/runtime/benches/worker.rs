//! The costs of a worker: isolates, cold starts step by step, with and without the code cache, warm
//! calls, memory. Run by hand (`cargo bench -p hearth-runtime`); prints p50 and p99, asserts
//! nothing. `V8_FLAGS` has more flags for V8.

#![allow(clippy::unwrap_used)]

#[path = "../tests/support/one_module.rs"]
#[allow(dead_code)]
mod one_module;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{ByteSize, Failure, Footprint};
use hearth_runtime::{App, Isolate, Locking, Platform, SharedIsolate, Snapshot, SpareIsolate, ThreadPolicy, Worker};
use one_module::{app, request};

const HELLO: &str = "export default { fetch() { return new Response('Hello, World!'); } };";
/// 1 KB; the cold starts of the whole cell are measured with it too.
const SMALL: &str = include_str!("../../cell/benches/pools/app.js");
const ASYNC: &str = "export default { async fetch(request) { await 1; return new Response(request.url); } };";
const HEAP: ByteSize = ByteSize::mb(128);
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

/// The parts of V8's blob (`src/snapshot/snapshot.cc`): after the header come the isolate's part,
/// the shared part, and the context.
fn parts(snapshot: &Snapshot) -> [usize; 2] {
    let bytes = snapshot.bytes();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let [read_only, shared, context] = [80, 84, 88].map(number);
    let blob = number(bytes.len() - 8);
    [read_only + context - shared, blob - context]
}

/// CPU time of this thread, without what the rest of the machine does.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: demands a place for the time, which is above.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Page faults of this thread so far. On a virtual machine each costs one to two microseconds.
fn faults() -> u64 {
    // SAFETY: all zeroes is a usage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: demands a place for the usage, which is above.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_minflt as u64
}

fn main() {
    if let Ok(flags) = std::env::var("V8_FLAGS") {
        v8::V8::set_flags_from_string(&flags);
    }
    let platform = Platform::init().unwrap();
    let started = Instant::now();
    let snapshot = Snapshot::make(platform).unwrap();
    println!("snapshot: {} KiB, made in {:.1?}", snapshot.bytes().len() / 1024, started.elapsed());
    println!("  read for each isolate {} bytes, for each context {} bytes", parts(&snapshot)[0], parts(&snapshot)[1]);
    let snapshot = Snapshot::from_static(Box::leak(snapshot.bytes().to_vec().into_boxed_slice()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async move { tokio::spawn(benches(platform, snapshot)).await.unwrap() });
}

/// The benchmarks that were named, or all.
async fn benches(platform: Platform, snapshot: Snapshot) {
    // As in a server: V8 sets up what isolates share with the first and takes it down with the
    // last.
    let _first = Isolate::new(platform, &snapshot, HEAP);
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    if wanted("memory") {
        // First: memory that other benchmarks free would be used again.
        memory(platform, &snapshot).await;
    }
    if wanted("cold") {
        steps(platform, &snapshot).await;
        starts(platform, &snapshot).await;
    }
    if wanted("contexts") {
        contexts(platform, &snapshot).await;
    }
    if wanted("warm") {
        warm(platform, &snapshot).await;
    }
}

/// Idle workers. Those with a small footprint have shrunk their heaps after their start.
async fn memory(platform: Platform, snapshot: &Snapshot) {
    const COUNT: usize = 200;
    let mut all = Vec::new();
    for footprint in [Footprint::Usual, Footprint::Small] {
        let mut app = Arc::into_inner(app(HELLO, HEAP)).unwrap();
        app.limits.footprint = footprint;
        let app = Arc::new(app);
        let before = resident();
        let each = || (resident() - before) / COUNT as f64;
        let mut workers = Vec::new();
        for _ in 0..COUNT {
            let worker = start_worker(platform, snapshot, app.clone(), Locking::NoLocker).await.unwrap();
            worker.fetch(request(b"")).await.unwrap();
            workers.push(worker);
        }
        println!("{:<52} {:.3} MiB", format!("memory of a worker, {footprint:?}, after one request"), each());
        for worker in &workers {
            for _ in 0..1000 {
                worker.fetch(request(b"")).await.unwrap();
            }
        }
        println!("{:<52} {:.3} MiB", "  after a thousand", each());
        all.push(workers);
    }
}

async fn starts(platform: Platform, snapshot: &Snapshot) {
    let mut times = Vec::new();
    for _ in 0..100 {
        let begun = cpu();
        drop(Isolate::new(platform, snapshot, HEAP));
        times.push(cpu() - begun);
    }
    report("isolate from the snapshot, made and dropped, CPU time", times);
    for (name, cache) in [("without", ByteSize(0)), ("with", ByteSize::mb(8))] {
        let app = app(HELLO, cache);
        let mut times = Vec::new();
        for _ in 0..100 {
            let start = Instant::now();
            let worker = start_worker(platform, snapshot, app.clone(), Locking::NoLocker).await.unwrap();
            worker.fetch(request(b"")).await.unwrap();
            times.push(start.elapsed());
        }
        report(&format!("cold start and first request, {name} code cache"), times);
    }
}

/// As `auto` starts them, and the others.
async fn start_worker(
    platform: Platform,
    snapshot: &Snapshot,
    app: Arc<App>,
    locking: Locking,
) -> Result<Worker, Failure> {
    let blank = SpareIsolate::new(platform, snapshot, HEAP).with_locking(locking);
    Worker::start_from(blank, app, ThreadPolicy::Inline).await
}

async fn warm(platform: Platform, snapshot: &Snapshot) {
    let payload: &[u8] = br#"{"id":1,"name":"a name","tags":["a","b","c"],"nested":{"x":1,"y":[1,2,3]}}"#;
    let cases = [("hello", HELLO, &b""[..]), ("async, reads url", ASYNC, b""), ("JSON echo, 76 bytes", JSON, payload)];
    let ways = [("", Locking::NoLocker), (", under V8's lock", Locking::Locker)];
    for ((name, code, body), (way, locking)) in cases.into_iter().flat_map(|case| ways.map(|way| (case, way))) {
        let worker = start_worker(platform, snapshot, app(code, HEAP), locking).await.unwrap();
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
        report(&format!("warm request inside the process: {name}{way}"), times);
    }
}

/// A cold start, step by step, in CPU time; each app has code of its own.
async fn steps(platform: Platform, snapshot: &Snapshot) {
    const STEPS: [&str; 7] = [
        "isolate and context",
        "rehearsal",
        "worker, modules evaluated",
        "first request",
        "second request",
        "eight more",
        "drop",
    ];
    let mut times = STEPS.map(|_| Vec::new());
    let mut touched = STEPS.map(|_| Vec::new());
    for number in 0..200 {
        let app = app(&SMALL.replace("NUMBER", &number.to_string()), ByteSize::mb(8));
        let lap = || (cpu(), faults());
        let mut laps = vec![lap()];
        let mut blank = SpareIsolate::new(platform, snapshot, HEAP).with_locking(Locking::NoLocker);
        laps.push(lap());
        blank.warm_up();
        laps.push(lap());
        let worker = Worker::start_from(blank, app, ThreadPolicy::Inline).await.unwrap();
        laps.push(lap());
        worker.fetch(request(b"")).await.unwrap();
        laps.push(lap());
        worker.fetch(request(b"")).await.unwrap();
        laps.push(lap());
        for _ in 0..8 {
            worker.fetch(request(b"")).await.unwrap();
        }
        laps.push(lap());
        drop(worker);
        laps.push(lap());
        for ((times, touched), lap) in times.iter_mut().zip(&mut touched).zip(laps.windows(2)) {
            times.push(lap[1].0 - lap[0].0);
            touched.push(lap[1].1 - lap[0].1);
        }
    }
    for ((step, times), mut touched) in STEPS.iter().zip(times).zip(touched) {
        touched.sort();
        let median = touched[touched.len() / 2];
        report(&format!("1 KB app, CPU time: {step} ({median} faults)"), times);
    }
}

/// A context for each request in one isolate, with what it leaves in the heap.
async fn contexts(platform: Platform, snapshot: &Snapshot) {
    let app = app(HELLO, ByteSize::mb(8));
    let shared = SharedIsolate::new(Isolate::new(platform, snapshot, HEAP));
    const COUNT: usize = 2000;
    let mut times = Vec::new();
    let mut before = cpu();
    for number in 0..COUNT * 5 / 4 {
        let start = cpu();
        // The first ones fill the heap until it is collected, and are not counted.
        if number == COUNT / 4 {
            (times, before) = (Vec::new(), start);
        }
        let worker = Worker::start_in(shared.clone(), app.clone()).await.unwrap();
        worker.fetch(request(b"")).await.unwrap();
        drop(worker);
        times.push(cpu() - start);
    }
    let mean = (cpu() - before) / COUNT as u32;
    report("a context for a request (shared), CPU time", times);
    println!("{:<52} {mean:.3?}", "  on average, collections on this thread included");
}
