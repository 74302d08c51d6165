//! Isolates and workers through the public API: threads, drop order, the code cache, events. Runs
//! on the main thread of a process of its own, since V8 must be started there. Each test runs with
//! both ways in which threads enter an isolate that no thread keeps: under V8's own lock, and
//! without it.

#![allow(clippy::unwrap_used)]

mod lazy;
#[path = "support/one_module.rs"]
mod one_module;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use hearth_core::failure::LoadFailure;
use hearth_core::{ByteSize, Failure, MaybeReady};
use hearth_runtime::{
    App, CodeCache, Health, Hook, Isolate, JsThreads, Locking, Mailbox, Platform, Scheduled, SharedIsolate, Snapshot,
    SpareIsolate, Task, ThreadPolicy, Worker, WorkerCounts,
};
use one_module::{app, get, text};

struct Bench {
    locking: Locking,
    platform: Platform,
    snapshot: Snapshot,
    runtime: tokio::runtime::Runtime,
}

/// Nothing takes this long unless it hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);
const HELLO: &str = "let n = 0; export default { fetch() { return new Response(`hello ${++n}`); } };";

fn main() {
    let platform = Platform::init().unwrap();
    let snapshot = Snapshot::make(platform).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .thread_stack_size(hearth_runtime::THREAD_STACK)
        .enable_all()
        .build()
        .unwrap();
    let mut bench = Bench { locking: Locking::Locker, platform, snapshot, runtime };
    type Case = (&'static str, fn(&Bench));
    let cases: [Case; 26] = [
        ("threads_have_v8s_lock_where_they_should", threads_have_v8s_lock_where_they_should),
        ("a_lock_is_kept_until_its_thread_ends", a_lock_is_kept_until_its_thread_ends),
        ("a_pinned_workers_lock_is_given_up_when_it_goes", a_pinned_workers_lock_is_given_up_when_it_goes),
        ("contexts_of_an_isolate_end_while_others_run", contexts_of_an_isolate_end_while_others_run),
        ("a_buffer_that_is_bound_meanwhile_is_not_transferred", a_buffer_that_is_bound_meanwhile_is_not_transferred),
        ("isolates_are_dropped_in_any_order_by_any_thread", isolates_are_dropped_in_any_order_by_any_thread),
        ("an_isolate_moves_between_threads", an_isolate_moves_between_threads),
        ("a_thread_comes_back_to_the_isolate_it_was_in", a_thread_comes_back_to_the_isolate_it_was_in),
        ("a_worker_moves_house_with_all_it_has", a_worker_moves_house_with_all_it_has),
        ("a_worker_is_used_by_many_threads_at_once", a_worker_is_used_by_many_threads_at_once),
        ("contexts_share_an_isolate_and_nothing_else", contexts_share_an_isolate_and_nothing_else),
        ("the_second_cold_start_does_not_compile_again", the_second_cold_start_does_not_compile_again),
        ("what_is_compiled_ahead_is_not_compiled_again", what_is_compiled_ahead_is_not_compiled_again),
        ("scheduled_and_task_events_come_to_their_results", scheduled_and_task_events_come_to_their_results),
        ("a_client_that_has_its_reply_finds_the_worker_free", a_client_that_has_its_reply_finds_the_worker_free),
        ("the_first_turns_of_an_app_run_in_their_own_tier", the_first_turns_of_an_app_run_in_their_own_tier),
        ("hooks_run_and_are_cut_off", hooks_run_and_are_cut_off),
        ("a_worker_counts_its_requests", a_worker_counts_its_requests),
        ("what_fails_to_load_says_why", what_fails_to_load_says_why),
        ("a_killed_worker_is_gone_and_says_why", a_killed_worker_is_gone_and_says_why),
        (
            "what_a_worker_leaves_behind_is_cleared_away_in_the_lane",
            what_a_worker_leaves_behind_is_cleared_away_in_the_lane,
        ),
        ("a_panic_in_an_op_ends_its_worker_alone", a_panic_in_an_op_ends_its_worker_alone),
        ("a_spare_settles_on_the_thread_that_uses_it", a_spare_settles_on_the_thread_that_uses_it),
        ("a_rehearsal_leaves_nothing_behind", a_rehearsal_leaves_nothing_behind),
        ("lazy_globals_look_like_any_other", lazy::lazy_globals_look_like_any_other),
        ("lazy_files_call_nothing_that_an_app_has_changed", lazy::lazy_files_call_nothing_that_an_app_has_changed),
    ];
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let (mut passed, mut failed) = (0, 0);
    for (locking, way) in [(Locking::Locker, "locker"), (Locking::NoLocker, "no_locker")] {
        bench.locking = locking;
        for (name, case) in cases {
            let name = format!("{way}::{name}");
            if filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
                continue;
            }
            let ok = catch_unwind(AssertUnwindSafe(|| case(&bench))).is_ok();
            println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
            if ok { passed += 1 } else { failed += 1 }
        }
    }
    println!("{passed} passed, {failed} failed");
    std::process::exit(i32::from(failed > 0));
}

impl Bench {
    fn run<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.runtime.block_on(async { tokio::spawn(future).await.unwrap() })
    }

    fn start(&self, code: &str) -> Result<Worker, Failure> {
        let (blank, app) = (self.blank(), app(code, ByteSize::mb(8)));
        self.run(async move { Worker::start_from(blank, app, ThreadPolicy::Inline).await })
    }

    fn isolate(&self) -> Isolate {
        let mut isolate = Isolate::new(self.platform, &self.snapshot, ByteSize::mb(64));
        isolate.set_locking(self.locking);
        isolate
    }

    fn blank(&self) -> SpareIsolate {
        self.blanks()()
    }

    fn blanks(&self) -> impl Fn() -> SpareIsolate + Send + Sync + use<> {
        let (locking, platform, snapshot) = (self.locking, self.platform, self.snapshot.clone());
        move || SpareIsolate::new(platform, &snapshot, ByteSize::mb(128)).with_locking(locking)
    }
}

fn isolates_are_dropped_in_any_order_by_any_thread(bench: &Bench) {
    let make = || bench.isolate();
    let (first, second, third) = (make(), make(), make());
    drop(first);
    std::thread::spawn(move || drop(third)).join().unwrap();
    drop(second);
}

fn an_isolate_moves_between_threads(bench: &Bench) {
    let isolate = SharedIsolate::new(bench.isolate());
    let collect = |isolate: &SharedIsolate| isolate.with_lock(|isolate| isolate.low_memory_notification());
    collect(&isolate);
    for _ in 0..8 {
        let isolate = isolate.clone();
        std::thread::spawn(move || collect(&isolate)).join().unwrap();
    }
    collect(&isolate);
}

/// While a thread is in one isolate, it creates, uses and drops others, some of which were on other
/// threads.
fn a_thread_comes_back_to_the_isolate_it_was_in(bench: &Bench) {
    let make = || bench.isolate();
    let make_elsewhere = || std::thread::scope(|scope| scope.spawn(make).join().unwrap());
    let collect = |isolate: &mut Isolate| isolate.with_lock(|isolate| isolate.low_memory_notification());
    let (mut outer, mut older) = (make(), make());
    outer.with_lock(|outer| {
        let (mut made_here, mut moved, unused) = (make(), make_elsewhere(), make_elsewhere());
        for isolate in [&mut older, &mut made_here, &mut moved] {
            collect(isolate);
            outer.low_memory_notification();
        }
        older.with_lock(|_| drop(made_here));
        drop((unused, older, moved));
        v8::scope!(let scope, &mut **outer);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let code = v8::String::new(scope, "[6 * 7].map(String).join('')").unwrap();
        let result = v8::Script::compile(scope, code, None).unwrap().run(scope).unwrap();
        assert_eq!(result.to_rust_string_lossy(scope), "42");
    });
    collect(&mut outer);
}

/// Collections, exceptions, deep recursion, optimised code and regular expressions are where V8
/// uses its stack.
fn a_worker_moves_house_with_all_it_has(bench: &Bench) {
    let code = "const kept = [], down = (n) => n && 1 + down(n - 1);
        export default { async fetch() {
            for (let i = 0; i < 20000; i++) kept[i % 5000] = { i, text: `${i}`, list: [i, i + 0.5] };
            await null;
            let error; try { down(1e9) } catch (e) { error = e.name }
            return new Response(`${error} after ${down(1000)} ${kept[4999].i} ${/^(a|ab)*c$/.test('ab'.repeat(50) + 'c')}`);
        } };";
    let app = app(code, ByteSize::mb(64));
    let worker = bench.runtime.block_on(Worker::start_from(bench.blank(), app, ThreadPolicy::Inline)).unwrap();
    let runtime = bench.runtime.handle();
    let ask = || runtime.block_on(async { text(worker.fetch(get("/")).await.unwrap()).await });
    for _ in 0..20 {
        // This thread's stack lies above the others'.
        assert_eq!(ask(), "RangeError after 1000 19999 true");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let builder = std::thread::Builder::new().stack_size(hearth_runtime::THREAD_STACK);
                builder.spawn_scoped(scope, || assert_eq!(ask(), "RangeError after 1000 19999 true")).unwrap();
            }
        });
    }
}

fn a_worker_is_used_by_many_threads_at_once(bench: &Bench) {
    let worker = bench
        .start("let n = 0; export default { async fetch() { await 0; return new Response(`${++n}`); } };")
        .unwrap();
    let highest = bench.run(async move {
        let mut tasks = Vec::new();
        for _ in 0..8 {
            let worker = worker.clone();
            tasks.push(tokio::spawn(async move {
                let mut last = 0;
                for _ in 0..200 {
                    last = text(worker.fetch(get("/")).await.unwrap()).await.parse::<u32>().unwrap();
                }
                last
            }));
        }
        let mut highest = 0;
        for task in tasks {
            highest = highest.max(task.await.unwrap());
        }
        assert_eq!(worker.active(), 0);
        highest
    });
    assert_eq!(highest, 1600, "every request was counted once");
}

fn contexts_share_an_isolate_and_nothing_else(bench: &Bench) {
    let isolate = SharedIsolate::new(bench.isolate());
    bench.run(async move {
        let code = "export default { fetch() { globalThis.seen = (globalThis.seen ?? 0) + 1; return new Response(`${seen}`); } };";
        let one = Worker::start_in(isolate.clone(), app(code, ByteSize(0))).await.unwrap();
        let two = Worker::start_in(isolate, app(code, ByteSize(0))).await.unwrap();
        assert_eq!(text(one.fetch(get("/")).await.unwrap()).await, "1");
        assert_eq!(text(one.fetch(get("/")).await.unwrap()).await, "2");
        assert_eq!(text(two.fetch(get("/")).await.unwrap()).await, "1");
        drop(one);
        assert_eq!(text(two.fetch(get("/")).await.unwrap()).await, "2");
    });
}

fn the_second_cold_start_does_not_compile_again(bench: &Bench) {
    let blank = bench.blanks();
    let app = app(HELLO, ByteSize::mb(8));
    let cache: Arc<CodeCache> = app.code_cache.clone();
    bench.run(async move {
        for _ in 0..3 {
            let worker = Worker::start_from(blank(), app.clone(), ThreadPolicy::Inline).await.unwrap();
            assert_eq!(text(worker.fetch(get("/")).await.unwrap()).await, "hello 1");
            // The code is cached after the reply.
            worker.wait_until_idle().await;
        }
    });
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.hits, statistics.rejected), (1, 2, 0), "{statistics:?}");
}

fn what_is_compiled_ahead_is_not_compiled_again(bench: &Bench) {
    let blank = bench.blanks();
    // Large enough for V8 to compile functions when they are called.
    let code = format!("let n = 0; const greet = () => `hello ${{++n}}`; // {}\n", "x".repeat(4096))
        + "export default { fetch() { return new Response(greet()); } };";
    let (ahead, broken) = (app(&code, ByteSize::mb(8)), app("export default {", ByteSize::mb(8)));
    bench.run(async move {
        assert!(!Worker::is_compiled(&ahead));
        Worker::compile(blank(), &ahead);
        assert!(Worker::is_compiled(&ahead));
        let compiled = ahead.code_cache.statistics();
        assert_eq!((compiled.entries, compiled.misses, compiled.hits), (1, 1, 0), "{compiled:?}");
        for starts in 1..=2 {
            let worker = Worker::start_from(blank(), ahead.clone(), ThreadPolicy::Inline).await.unwrap();
            assert_eq!(text(worker.fetch(get("/")).await.unwrap()).await, "hello 1", "nothing had run before");
            worker.wait_until_idle().await;
            let kept = ahead.code_cache.statistics();
            assert_eq!((kept.entries, kept.misses, kept.hits, kept.rejected), (1, 1, starts, 0), "{kept:?}");
            assert!(kept.bytes > compiled.bytes, "what the first request compiled is kept, too");
        }
        Worker::compile(blank(), &broken);
        assert!(!Worker::is_compiled(&broken));
        let started = Worker::start_from(blank(), broken, ThreadPolicy::Inline).await;
        assert!(matches!(started, Err(Failure::Load(_))), "the caller that starts it gets the error");
    });
}

/// Handlers whose turns go on after their replies, by the way in which the replies leave.
const TRAILING: &str = "
    const trail = async (hops) => {
        for (let i = 0; i < hops; i++) await null;
        for (const end = performance.now() + 1; performance.now() < end;);
    };
    export default {
        async fetch(request, env, ctx) {
            switch (new URL(request.url).pathname) {
                case '/plain': break;
                case '/await': await null; break;
                case '/timer': await new Promise((done) => setTimeout(done)); break;
                case '/wait': ctx.waitUntil(trail(50)); return new Response('waits');
                case '/throw': trail(50); throw new Error('as a test wants it');
            }
            trail(50);
            return new Response('answered');
        },
        async task() { trail(50); return 1; },
    };";

fn a_client_that_has_its_reply_finds_the_worker_free(bench: &Bench) {
    let threads = JsThreads::start(1).unwrap();
    let (blank, pools) = (bench.blanks(), threads.turn_pools());
    bench.run(async move {
        for place in [ThreadPolicy::Inline, ThreadPolicy::ByLatency(pools)] {
            let app = app(TRAILING, ByteSize(0));
            // From now on it runs in the low-priority pool.
            app.latency.record(Duration::from_secs(1));
            let worker = Worker::start_from(blank(), app, place).await.unwrap();
            assert!(!worker.is_busy(), "a started worker is free");
            for path in ["/plain", "/await", "/timer", "/wait", "/throw"].repeat(8) {
                let answer = worker.fetch(get(path)).await;
                assert!(!worker.is_busy(), "{path}");
                assert_eq!(answer.is_err(), path == "/throw");
                let task = Task { id: "t".into(), payload: None, attempt: 1, scheduled_time: None };
                assert!(worker.task(task).await.unwrap().success);
                assert!(!worker.is_busy(), "a task");
            }
        }
    });
    threads.shutdown(Duration::ZERO);
}

fn the_first_turns_of_an_app_run_in_their_own_tier(bench: &Bench) {
    let threads = JsThreads::start(1).unwrap();
    let (blank, pools) = (bench.blanks(), threads.turn_pools());
    bench.run(async move {
        let app = app(HELLO, ByteSize::mb(8));
        let worker = Worker::start_from(blank(), app.clone(), ThreadPolicy::ByLatency(pools)).await.unwrap();
        let inline = |worker: &Worker| match worker.handle(get("/"), Instant::now()) {
            MaybeReady::Ready((answer, _)) => Ok(answer.unwrap()),
            MaybeReady::Pending(response) => Err(response),
        };
        let (mut requests, began) = (0, Instant::now());
        // The number of requests depends on how long they take, on a machine that may be busy.
        while let Err(response) = inline(&worker) {
            requests += 1;
            assert_eq!(text(response.await.unwrap()).await, format!("hello {requests}"));
            worker.wait_until_idle().await;
            assert_eq!(app.code_cache.statistics().entries, 1, "the first one's code is kept all the same");
            assert!(began.elapsed() < TEST_TIMEOUT, "short turns make it fast: {:?}", app.latency);
        }
        assert!(requests > 0, "no app is fast at first");
    });
    threads.shutdown(Duration::ZERO);
}

fn scheduled_and_task_events_come_to_their_results(bench: &Bench) {
    let worker = bench
        .start(
            "let ran = []; export default {
               async scheduled(event, env, ctx) { ctx.waitUntil(Promise.resolve().then(() => ran.push(event.cron))); },
               async task(event) {
                 if (event.payload.fail) throw new Error('task failed');
                 return { ran, attempt: event.attempt, doubled: event.payload.n * 2 };
               },
             };",
        )
        .unwrap();
    bench.run(async move {
        let scheduled = Scheduled { scheduled_time: 1000.0, cron: "* * * * *".into() };
        assert!(worker.scheduled(scheduled).await.unwrap().success);
        let task =
            |payload: &str| Task { id: "t".into(), payload: Some(payload.into()), attempt: 2, scheduled_time: None };
        let done = worker.task(task(r#"{"n":21}"#)).await.unwrap();
        assert_eq!(done.data.as_deref(), Some(r#"{"ran":["* * * * *"],"attempt":2,"doubled":42}"#));
        let failed = worker.task(task(r#"{"fail":true}"#)).await.unwrap();
        assert_eq!((failed.success, failed.error.as_deref()), (false, Some("task failed")));
        let missing = worker.fetch(get("/")).await;
        assert!(matches!(missing, Err(Failure::NoHandler { event: "fetch" })), "{missing:?}");
    });
}

fn hooks_run_and_are_cut_off(bench: &Bench) {
    let worker = bench
        .start(
            "const ran = []; let finished = false; export default {
               fetch() { return Response.json([ran, finished]); },
               async onIdle(env, ctx) {
                 await null;
                 ran.push('idle');
                 ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 10)).then(() => { finished = true; }));
               },
             };
             export function onTerminate() { ran.push('terminate'); return new Promise(() => {}); }",
        )
        .unwrap();
    assert!(worker.has_hook(Hook::Idle) && worker.has_hook(Hook::Terminate));
    bench.run(async move {
        worker.on_idle().await;
        worker.wait_until_idle().await;
        worker.on_idle().await;
        worker.wait_until_idle().await;
        worker.on_terminate().await;
        assert_eq!(worker.active(), 0, "what did not end was cut off");
        assert_eq!(worker.health(), Health::Ready, "which is no fault");
        let ran = text(worker.fetch(get("/")).await.unwrap()).await;
        assert_eq!(ran, r#"[["idle","idle","terminate"],true]"#);
    });
    let plain = bench.start(HELLO).unwrap();
    assert!(!plain.has_hook(Hook::Idle) && !plain.has_hook(Hook::Terminate));
    bench.run(async move {
        plain.on_idle().await;
        plain.on_terminate().await;
        assert_eq!(text(plain.fetch(get("/")).await.unwrap()).await, "hello 1");
    });
}

fn a_worker_counts_its_requests(bench: &Bench) {
    let code = "export default { async fetch(request) {
                  const { pathname } = new URL(request.url);
                  if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 30));
                  if (pathname === '/throws') throw new Error('thrown');
                  return new Response('', { status: pathname === '/bad' ? 500 : 200 });
                } };";
    let (worker, other) = (bench.start(code).unwrap(), bench.start(code).unwrap());
    assert_ne!(worker.id(), other.id());
    assert_eq!(worker.counts(), WorkerCounts::default());
    bench.run(async move {
        for path in ["/", "/bad", "/slow"] {
            worker.fetch(get(path)).await.unwrap();
        }
        assert!(worker.fetch(get("/throws")).await.is_err());
        let counts = worker.counts();
        assert_eq!((counts.requests, counts.answered, counts.errors), (4, 4, 2));
        assert!(counts.response_time >= std::time::Duration::from_millis(30), "{counts:?}");
        let weak = worker.downgrade();
        assert!(weak.upgrade().is_some_and(|again| again.is_same(&worker)));
    });
    assert_eq!(other.counts(), WorkerCounts::default());
}

fn what_fails_to_load_says_why(bench: &Bench) {
    for (code, expected) in [
        ("export default {", "SyntaxError"),
        ("throw new TypeError('at the top')", "TypeError: at the top"),
        ("import './missing.js'", "missing.js"),
        ("export default class { constructor() { throw new Error('in the class'); } }", "Error: in the class"),
        ("export default { routes: { '/a/:': () => {} } }", "'/a/:'"),
    ] {
        let Err(Failure::Load(failure)) = bench.start(code) else { panic!("{code} loaded") };
        assert!(matches!(failure, LoadFailure::Module(_) | LoadFailure::Threw { .. }));
        assert!(failure.to_string().contains(expected), "{code}: {failure}");
    }
}

fn a_killed_worker_is_gone_and_says_why(bench: &Bench) {
    let worker = bench.start("export default { fetch() { for (;;); } };").unwrap();
    bench.run(async move {
        let Err(Failure::Limit(exceeded)) = worker.fetch(get("/")).await else { panic!("it ended") };
        assert!(exceeded.to_string().contains("CPU time limit exceeded"));
        assert_eq!(worker.health(), Health::Gone);
        assert!(matches!(worker.fetch(get("/")).await, Err(Failure::Collateral(_))));
    });
}

/// While the low-priority pool has no free thread, heaps are not destroyed: no thread that serves
/// requests destroys them.
fn what_a_worker_leaves_behind_is_cleared_away_in_the_lane(bench: &Bench) {
    let threads = JsThreads::start(1).unwrap();
    let (blank, pools) = (bench.blanks(), threads.turn_pools());
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    bench.run(async move {
        let mut app = app("export default { fetch() { for (;;); } };", ByteSize(0));
        Arc::get_mut(&mut app).unwrap().limits.cpu = Duration::from_millis(50);
        let start = || async {
            Worker::start_from(blank(), app.clone(), ThreadPolicy::ByLatency(pools.clone())).await.unwrap()
        };
        let (stopped, dropped) = (start().await, start().await);
        // More than the pool has threads.
        let mut full: Vec<_> = (0..200)
            .map(|_| {
                let held = held.clone();
                // The error is the drop of the other end, which the job waits for.
                Box::pin(pools.spawn_blocking(move || drop(held.lock().map(|held| held.recv()))))
            })
            .collect();
        poll_fn(|cx| {
            assert!(full.iter_mut().all(|one| one.as_mut().poll(cx).is_pending()));
            Poll::Ready(())
        })
        .await;

        assert!(matches!(stopped.fetch(get("/")).await, Err(Failure::Limit(_))), "the answer does not wait");
        assert_eq!(stopped.health(), Health::Gone);
        let mut rest = Box::pin(stopped.wait_until_idle());
        poll_fn(|cx| {
            assert!(rest.as_mut().poll(cx).is_pending(), "its heap is still there");
            Poll::Ready(())
        })
        .await;
        drop(dropped);
        assert!(Arc::strong_count(&app) > 2, "so is that of one that was let go: {}", Arc::strong_count(&app));

        drop(release);
        tokio::time::timeout(TEST_TIMEOUT, rest).await.unwrap();
        let began = Instant::now();
        // The references that are left: the test's and the stopped worker's.
        while Arc::strong_count(&app) > 2 {
            assert!(began.elapsed() < TEST_TIMEOUT, "{}", Arc::strong_count(&app));
            tokio::task::yield_now().await;
        }
    });
    threads.shutdown(Duration::ZERO);
}

/// While a module is resolved, and while V8 evaluates it.
fn a_panic_in_an_op_ends_its_worker_alone(bench: &Bench) {
    for name in ["./panic.js", "./panic-when-evaluated.txt"] {
        let worker = bench.start(&format!("export default {{ fetch: () => import('{name}') }};")).unwrap();
        let neighbour = bench.start(HELLO).unwrap();
        bench.run(async move {
            let failed = worker.fetch(get("/")).await;
            assert!(matches!(failed, Err(Failure::Internal { .. })), "{failed:?}");
            assert_eq!(worker.health(), Health::Gone);
            assert_eq!(text(neighbour.fetch(get("/")).await.unwrap()).await, "hello 1");
        });
    }
}

fn threads_have_v8s_lock_where_they_should(bench: &Bench) {
    let mut isolate = bench.isolate();
    let expected = bench.locking == Locking::Locker;
    for _ in 0..3 {
        assert_eq!(isolate.with_lock(|isolate| isolate.has_locker()), expected);
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(|| isolate.with_lock(|isolate| isolate.has_locker())).join().unwrap()
        });
        assert_eq!(elsewhere, expected);
    }
    let mut new = Isolate::new(bench.platform, &bench.snapshot, ByteSize::mb(64));
    let elsewhere =
        std::thread::scope(|scope| scope.spawn(|| new.with_lock(|isolate| isolate.has_locker())).join().unwrap());
    assert!(elsewhere, "a second thread takes the lock where no way was chosen");
    new.set_locking(bench.locking);
    assert!(new.with_lock(|isolate| isolate.has_locker()), "which holds");
}

fn a_lock_is_kept_until_its_thread_ends(bench: &Bench) {
    let (give, take) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let (platform, snapshot) = (bench.platform, bench.snapshot.clone());
    let thread = std::thread::spawn(move || {
        let mut isolate = Isolate::new(platform, &snapshot, ByteSize::mb(64));
        isolate.set_locking(Locking::HeldLocker);
        for _ in 0..2 {
            assert!(isolate.with_lock(|isolate| isolate.has_locker()));
        }
        give.send(isolate).unwrap();
        held.recv().unwrap_err();
    });
    let mut isolate: Isolate = take.recv().unwrap();
    let refused = catch_unwind(AssertUnwindSafe(|| isolate.with_lock(|_| ())));
    assert!(refused.is_err(), "its thread has it");
    drop(release);
    thread.join().unwrap();
    assert!(isolate.with_lock(|isolate| isolate.has_locker()));
}

fn a_pinned_workers_lock_is_given_up_when_it_goes(bench: &Bench) {
    let threads = JsThreads::start(1).unwrap();
    let desk = Mailbox::new();
    let (ready, runtime) = mpsc::channel();
    let stop = Arc::new(tokio::sync::Notify::new());
    let thread = std::thread::Builder::new().stack_size(hearth_runtime::THREAD_STACK).spawn({
        let (desk, stop) = (desk.clone(), stop.clone());
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            ready.send(runtime.handle().clone()).unwrap();
            let serving = desk.clone();
            runtime.spawn(async move { serving.serve().await });
            runtime.block_on(stop.notified());
            desk.close();
        }
    });
    let (there, blank, pools) = (runtime.recv().unwrap(), bench.blanks(), threads.turn_pools());
    let code = "let n = 0; export default { fetch(request) { for (; request.url.endsWith('/stop');); return new Response(`${++n}`) } };";
    let mut stopped = app(code, ByteSize(0));
    Arc::get_mut(&mut stopped).unwrap().limits.cpu = Duration::from_millis(50);
    let apps = [stopped, app(code, ByteSize(0)), app(code, ByteSize(0))];
    let start = |app: &Arc<App>| {
        let (blank, app, place) = (blank(), app.clone(), ThreadPolicy::Pinned(desk.clone(), pools.clone()));
        let worker = there.spawn(async move { Worker::start_from(blank, app, place).await.unwrap() });
        bench.run(async move { worker.await.unwrap() })
    };
    let gone = |app: &Arc<App>| {
        let began = Instant::now();
        while Arc::strong_count(app) > 1 {
            assert!(began.elapsed() < TEST_TIMEOUT, "its isolate is destroyed: {}", Arc::strong_count(app));
            std::thread::yield_now();
        }
    };
    let [killed, dropped, last] = apps.each_ref().map(start);
    let worker = killed.clone();
    bench.run(async move {
        assert!(matches!(worker.fetch(get("/stop")).await, Err(Failure::Limit(_))));
        worker.wait_until_idle().await;
    });
    drop(killed);
    gone(&apps[0]);
    let worker = dropped.clone();
    bench.run(async move {
        for n in 1..=3 {
            assert_eq!(text(worker.fetch(get("/")).await.unwrap()).await, n.to_string());
        }
    });
    drop(dropped);
    gone(&apps[1]);
    stop.notify_one();
    thread.unwrap().join().unwrap();
    drop(last);
    gone(&apps[2]);
    threads.shutdown(Duration::ZERO);
}

/// A worker that ends has handles of an isolate that another worker uses at that moment.
fn contexts_of_an_isolate_end_while_others_run(bench: &Bench) {
    let isolate = SharedIsolate::new(bench.isolate());
    let busy = "export default { async fetch() { for (let i = 0; i < 20; i++) { await new Promise((done) => setTimeout(done)) } return new Response('done') } };";
    let stuck = "export default { async fetch(request) {
        if (request.url.endsWith('/stop')) for (;;);
        await Promise.all(Array.from({ length: 200 }, () => new Promise((done) => setTimeout(done, 1e6))));
    } };";
    bench.run(async move {
        let other = Worker::start_in(isolate.clone(), app(busy, ByteSize(0))).await.unwrap();
        for _ in 0..5 {
            let mut app = app(stuck, ByteSize(0));
            Arc::get_mut(&mut app).unwrap().limits.cpu = Duration::from_millis(20);
            let worker = Worker::start_in(isolate.clone(), app).await.unwrap();
            let waiting = tokio::spawn(worker.fetch(get("/")));
            let running: Vec<_> = (0..4).map(|_| tokio::spawn(other.fetch(get("/")))).collect();
            assert!(matches!(worker.fetch(get("/stop")).await, Err(Failure::Limit(_))));
            assert!(waiting.await.unwrap().is_err());
            for running in running {
                assert_eq!(text(running.await.unwrap().unwrap()).await, "done");
            }
        }
    });
}

fn a_buffer_that_is_bound_meanwhile_is_not_transferred(bench: &Bench) {
    let worker = bench
        .start(
            "function Asm(stdlib, foreign, heap) {
               'use asm';
               var bytes = new stdlib.Uint8Array(heap);
               function first() { return bytes[0] | 0; }
               return { first: first };
             }
             export default { fetch() {
               const buffer = new ArrayBuffer(65536);
               const value = { get bind() { Asm(globalThis, null, buffer); return 1; } };
               try { structuredClone(value, { transfer: [buffer] }); } catch (error) {
                 return new Response(`${error.name} ${buffer.byteLength}`);
               }
               return new Response(`transferred ${buffer.byteLength}`);
             } };",
        )
        .unwrap();
    let answer = bench.run(async move { text(worker.fetch(get("/")).await.unwrap()).await });
    assert_eq!(answer, "DataCloneError 65536");
}

/// Deep recursion shows that the isolate has its new thread's stack limit: with the old one it
/// would fault, or fail at once.
fn a_spare_settles_on_the_thread_that_uses_it(bench: &Bench) {
    let code = "const down = (n) => n && 1 + down(n - 1);
        export default { fetch() { try { down(1e9) } catch (e) { return new Response(`${e.name} after ${down(1000)}`) } } };";
    for _ in 0..4 {
        let blank = bench.blanks();
        let blank =
            std::thread::Builder::new().stack_size(hearth_runtime::THREAD_STACK).spawn(blank).unwrap().join().unwrap();
        let app = app(code, ByteSize(0));
        bench.run(async move {
            let worker = Worker::start_from(blank, app, ThreadPolicy::Inline).await.unwrap();
            for _ in 0..3 {
                let response = worker.fetch(get("/")).await.unwrap();
                assert_eq!(text(response).await, "RangeError after 1000");
            }
        });
    }
}

fn a_rehearsal_leaves_nothing_behind(bench: &Bench) {
    let code = "const seen = Object.getOwnPropertyNames(globalThis).concat(typeof URL, typeof WebAssembly.Memory);
        export const task = 1; export default { name: 'none' }; addEventListener('fetch', (event) => {
            event.respondWith(new Response(`${event.request.url} ${seen}`)) });";
    let answers = [false, true].map(|rehearsed| {
        let mut blank = bench.blank();
        if rehearsed {
            (0..3).for_each(|_| blank.warm_up());
        }
        let app = app(code, ByteSize(0));
        bench.run(async move {
            let worker = Worker::start_from(blank, app, ThreadPolicy::Inline).await.unwrap();
            text(worker.fetch(get("/")).await.unwrap()).await
        })
    });
    assert_eq!(answers[0], answers[1]);
    assert!(answers[0].ends_with("function,function"), "{}", answers[0]);
}
