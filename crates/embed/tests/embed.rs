//! Every function of the crate, as a program uses it. Runs on the main thread of a process of its
//! own, since V8 must be started there; futures are awaited on a runtime that is not Hearth's.

#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hearth_embed::{
    Binding, BindingCall, ByteSize, DefaultOperations, Error, Event, ExecutionContext, Failure, Fetched, Headers,
    IsolatePool, Limits, LogLine, Network, OperationError, OperationFuture, Operations, PinnedPool, PinnedRules,
    Request, Response, SharedIsolate, Target, Worker, execute_pinned, execute_pooled, init_pinned_pool_full, init_pool,
};

const COUNTER: &str = "let n = 0; export default {
    fetch: () => new Response(`${++n}`),
    scheduled(event, env, context) { n += 10; },
    task: (event) => ({ n: ++n, payload: event.payload }),
};";

fn main() {
    type Case = (&'static str, fn());
    let cases: [Case; 13] = [
        ("more_names_than_room_take_turns", more_names_than_room_take_turns),
        ("pools_are_made_once_and_before_they_are_used", pools_are_made_once_and_before_they_are_used),
        ("pooled_workers_stay_warm_and_give_way", pooled_workers_stay_warm_and_give_way),
        ("isolates_are_kept_by_name", isolates_are_kept_by_name),
        ("pinned_workers_say_when_they_are_warm", pinned_workers_say_when_they_are_warm),
        ("an_owner_has_no_more_than_its_isolates", an_owner_has_no_more_than_its_isolates),
        ("a_worker_has_an_isolate_of_its_own", a_worker_has_an_isolate_of_its_own),
        ("contexts_follow_each_other_in_an_isolate", contexts_follow_each_other_in_an_isolate),
        ("wait_until_is_drained_under_its_limits", wait_until_is_drained_under_its_limits),
        ("operations_take_the_place_of_hearths_own", operations_take_the_place_of_hearths_own),
        ("sockets_and_look_ups_are_asked_for", sockets_and_look_ups_are_asked_for),
        ("operations_that_fail_say_why", operations_that_fail_say_why),
        ("bodies_are_read_anywhere", bodies_are_read_anywhere),
    ];
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let (mut passed, mut failed) = (0, 0);
    for (name, case) in cases {
        if filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let ok = catch_unwind(AssertUnwindSafe(case)).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        if ok { passed += 1 } else { failed += 1 }
    }
    println!("{passed} passed, {failed} failed");
    std::process::exit(i32::from(failed > 0));
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn plain() -> Arc<dyn Operations> {
    Arc::new(DefaultOperations)
}

fn get() -> Event {
    Event::get("http://app/")
}

fn pools_are_made_once_and_before_they_are_used() {
    let early = run(execute_pooled("a", COUNTER, plain(), get()));
    assert!(matches!(early, Err(Error::NotStarted { call: "init_pool", .. })), "{early:?}");
    let target = Target { owner: "a", worker: "a", version: "1" };
    let early = run(execute_pinned(target.clone(), COUNTER, plain(), get(), || {}));
    assert!(matches!(early, Err(Error::NotStarted { call: "init_pinned_pool_full", .. })), "{early:?}");

    init_pool(4, Limits::default()).unwrap();
    init_pinned_pool_full(4, Some(2), 10, 5000, Limits::default()).unwrap();
    assert!(matches!(init_pool(4, Limits::default()), Err(Error::StartedTwice { .. })));
    assert!(matches!(init_pinned_pool_full(4, None, 1, 1, Limits::default()), Err(Error::StartedTwice { .. })));
    run(async {
        assert_eq!(execute_pooled("a", COUNTER, plain(), get()).await.unwrap().text().await.unwrap(), "1");
        assert_eq!(execute_pinned(target, COUNTER, plain(), get(), || {}).await.unwrap().text().await.unwrap(), "1");
    });
    assert_eq!(IsolatePool::global().unwrap().stats().total, 4);
    assert_eq!(PinnedPool::global().unwrap().stats().misses, 1);
}

fn pooled_workers_stay_warm_and_give_way() {
    let pool = IsolatePool::new(2, Limits::default()).unwrap();
    let operations = plain();
    let count = |name: &'static str, script: &'static str| {
        let (pool, operations) = (pool.clone(), operations.clone());
        run(async move { pool.execute(name, script, operations, get()).await.unwrap().text().await.unwrap() })
    };
    assert_eq!(["a", "a", "b"].map(|name| count(name, COUNTER)), ["1", "2", "1"]);
    let stats = pool.stats();
    assert_eq!((stats.total, stats.cached, stats.capacity), (2, 2, 0));
    assert_eq!((stats.hits, stats.misses), (1, 2));
    assert!((stats.hit_rate - 1.0 / 3.0).abs() < 1e-9);
    let changed = "export default { fetch: () => new Response('changed') }";
    assert_eq!(count("a", changed), "changed");
    assert_eq!(count("c", COUNTER), "1", "a third worker finds room");
    assert!(pool.stats().cached <= 2, "{:?}", pool.stats());
    assert_eq!(count("b", COUNTER), "1", "the one that was used least recently was gone");
    let result = run(pool.execute("b", COUNTER, operations.clone(), Event::task("t", Some("[1]".into()))));
    let result = result.unwrap().event().unwrap();
    assert_eq!(result.data.as_deref(), Some(r#"{"n":2,"payload":[1]}"#));
    let failed = run(pool.execute("d", "export default {", operations, get()));
    assert!(matches!(failed, Err(Error::Failed(Failure::Load(_)))), "{failed:?}");
}

/// A script that is evicted while an event is on its way to it handles that event.
fn more_names_than_room_take_turns() {
    let pool = IsolatePool::new(2, Limits::default()).unwrap();
    let operations = plain();
    run(async {
        let mut tasks = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let (pool, operations) = (pool.clone(), operations.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..5 {
                    pool.execute(name, COUNTER, operations.clone(), get()).await.unwrap().text().await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(pool.stats().hits + pool.stats().misses, 20);
}

fn isolates_are_kept_by_name() {
    let pool = IsolatePool::new(2, Limits::default()).unwrap();
    run(async {
        let first = pool.acquire("one").await.unwrap();
        assert!(first.with_lock(|isolate| isolate.has_locker()), "V8's own lock is taken");
        let mut again = Box::pin(pool.acquire("one"));
        tokio::select! {
            biased;
            _ = &mut again => panic!("two have one isolate"),
            other = pool.acquire("two") => drop(other.unwrap()),
        }
        let text = first
            .with_lock_async(|mut isolate| async move {
                let mut context = ExecutionContext::new(&mut isolate, COUNTER, plain()).await?;
                context.exec(get()).await?.text().await
            })
            .await;
        assert_eq!(text.unwrap(), "1");
        assert!(first.memory() > ByteSize(0));
        drop(first);
        drop(again.await.unwrap());
        let stats = pool.stats();
        assert_eq!((stats.cached, stats.hits, stats.misses), (2, 1, 2));
        drop(pool.acquire("three").await.unwrap());
        assert_eq!(pool.stats().cached, 2, "the least recently used one gave way");
    });
}

fn pinned_workers_say_when_they_are_warm() {
    let rules = PinnedRules { per_thread: 10, per_owner: Some(2), queue: 10, queue_timeout: Duration::from_secs(60) };
    let pool = PinnedPool::new(rules, Limits::default()).unwrap();
    let (operations, warm) = (plain(), Arc::new(AtomicU32::new(0)));
    let execute = |version: &'static str, event: Event| {
        let (operations, warm) = (operations.clone(), warm.clone());
        let target = Target { owner: "ada", worker: "shop", version };
        let outcome = pool.execute(target, COUNTER, operations, event, move || {
            warm.fetch_add(1, Ordering::Relaxed);
        });
        run(outcome).unwrap()
    };
    let text = |version, event| {
        let outcome = execute(version, event);
        run(outcome.text()).unwrap()
    };
    assert_eq!(text("1", get()), "1");
    assert_eq!(warm.load(Ordering::Relaxed), 0);
    assert_eq!(text("1", get()), "2");
    assert_eq!(warm.load(Ordering::Relaxed), 1);
    assert!(execute("1", Event::scheduled("* * * * *", 0.0)).event().unwrap().success);
    assert_eq!(warm.load(Ordering::Relaxed), 2);
    let task = execute("1", Event::task("t", None)).event().unwrap();
    assert_eq!((task.data.as_deref(), warm.load(Ordering::Relaxed)), (Some(r#"{"n":13}"#), 3));
    assert_eq!(text("2", get()), "1", "another version begins anew");
    assert_eq!(warm.load(Ordering::Relaxed), 3);
}

fn an_owner_has_no_more_than_its_isolates() {
    let rules = PinnedRules { per_thread: 10, per_owner: Some(2), queue: 10, queue_timeout: Duration::from_secs(60) };
    let pool = PinnedPool::new(rules, Limits::default()).unwrap();
    let operations = plain();
    let count = |owner: &'static str, worker: &'static str| {
        let target = Target { owner, worker, version: "1" };
        run(async { pool.execute(target, COUNTER, operations.clone(), get(), || {}).await?.text().await }).unwrap()
    };
    assert_eq!(count("bob", "x"), "1");
    for worker in ["a", "b", "c", "d"] {
        assert_eq!(count("ada", worker), "1");
    }
    assert_eq!(count("ada", "d"), "2");
    assert_eq!(count("ada", "c"), "2");
    assert_eq!(count("bob", "x"), "2", "another owner's stay");
    assert_eq!(count("ada", "a"), "1", "its own least recently used ones went");
    assert!(pool.stats().cached <= 3, "{:?}", pool.stats());
}

fn a_worker_has_an_isolate_of_its_own() {
    run(async {
        let mut one = Worker::new_with_ops(COUNTER, Limits::default(), plain()).await.unwrap();
        let mut two = Worker::new(COUNTER, Limits::default()).await.unwrap();
        assert_eq!(one.exec(get()).await.unwrap().text().await.unwrap(), "1");
        assert_eq!(one.exec(Request::get("http://app/")).await.unwrap().text().await.unwrap(), "2");
        assert_eq!(two.exec(get()).await.unwrap().text().await.unwrap(), "1");
        assert!(one.memory() > ByteSize(0));
        assert!(matches!(two.exec(Event::task("t", None)).await.unwrap().text().await, Err(Error::NoResponse)));
        let limits = Limits { cpu: Duration::from_millis(50), ..Limits::default() };
        let mut hog = Worker::new("export default { fetch() { for (;;); } }", limits).await.unwrap();
        assert!(matches!(hog.exec(get()).await, Err(Error::Failed(Failure::Limit(_)))));
        assert!(matches!(hog.drain_waituntil().await, Err(Error::WaitUntil)), "it is gone");
        let broken = Worker::new("throw new Error('at the top')", Limits::default()).await;
        assert!(broken.err().unwrap().to_string().contains("at the top"));
    });
}

fn contexts_follow_each_other_in_an_isolate() {
    run(async {
        let mut isolate = SharedIsolate::new(Limits::default()).unwrap();
        for _ in 0..3 {
            let mut context = ExecutionContext::new(&mut isolate, COUNTER, plain()).await.unwrap();
            for n in ["1", "2"] {
                assert_eq!(context.exec(get()).await.unwrap().text().await.unwrap(), n);
            }
            context.drain_waituntil().await.unwrap();
        }
        assert!(!isolate.is_spent());
        let limits = Limits { cpu: Duration::from_millis(50), ..Limits::default() };
        let hog = "export default { fetch() { for (;;); } }";
        let mut context = ExecutionContext::new_with_limits(&mut isolate, hog, plain(), limits).await.unwrap();
        assert!(matches!(context.exec(get()).await, Err(Error::Failed(Failure::Limit(_)))));
        drop(context);
        assert!(isolate.is_spent(), "an isolate that was stopped is not used again");
        assert!(isolate.with_lock(|isolate| isolate.has_locker()));
    });
}

fn wait_until_is_drained_under_its_limits() {
    let script = "let done = 0; export default { fetch(request, env, context) {
        const ms = Number(new URL(request.url).pathname.slice(1));
        context.waitUntil(new Promise((resolve) => setTimeout(resolve, ms)).then(() => { done++; }));
        return new Response(`${done}`);
    } }";
    run(async {
        let mut isolate = SharedIsolate::new(Limits::default()).unwrap();
        let limits = Limits { wait_until_wall: Duration::from_millis(200), ..Limits::default() };
        let mut context = ExecutionContext::new_with_limits(&mut isolate, script, plain(), limits).await.unwrap();
        for n in ["0", "1"] {
            let outcome = context.exec(Event::get("http://app/1")).await.unwrap();
            assert_eq!(outcome.text().await.unwrap(), n, "what was left of the one before is done");
            context.drain_waituntil().await.unwrap();
        }
        let outcome = context.exec(Event::get("http://app/1000000")).await.unwrap();
        assert_eq!(outcome.text().await.unwrap(), "2");
        assert!(matches!(context.drain_waituntil().await, Err(Error::WaitUntil)));
    });
}

/// Operations of a program: responses for one host, a store, a log of its own.
#[derive(Default)]
struct Own {
    lines: Mutex<Vec<String>>,
    calls: Mutex<Vec<BindingCall>>,
}

impl Operations for Own {
    fn fetch(&self, request: Request, network: Network) -> OperationFuture<Fetched> {
        if !request.url.starts_with("http://internal/") {
            return network.send(request);
        }
        let text = format!("{} {}", request.method.as_str(), request.url);
        Box::pin(async move { Ok(Response::new(203, Headers::new(), bytes::Bytes::from(text).into()).into()) })
    }

    fn log(&self, line: &LogLine<'_>) {
        self.lines.lock().unwrap().push(format!("{:?} {}", line.level, line.message));
    }

    fn bindings(&self) -> Vec<Binding> {
        vec![Binding::new("STORE", ["get", "put", "fail"]), Binding::new("EMPTY", [""; 0])]
    }

    fn call(&self, call: BindingCall) -> OperationFuture<Option<String>> {
        let answer = match call.method.as_str() {
            "get" => Ok(Some(call.arguments.clone())),
            "put" => Ok(None),
            _ => Err(OperationError::new("the store is closed")),
        };
        self.calls.lock().unwrap().push(call);
        Box::pin(async move { answer })
    }
}

fn operations_take_the_place_of_hearths_own() {
    let own = Arc::new(Own::default());
    let script = "export default { async fetch(request, env) {
        console.warn('at work');
        const response = await fetch('http://internal/a', { method: 'POST', body: 'x' });
        const got = await env.STORE.get('key', { deep: [1, null] });
        const put = await env.STORE.put('key', 'value');
        return Response.json([response.status, response.url, await response.text(), got, put === undefined,
            Object.keys(env), Object.isFrozen(env.STORE), Object.keys(env.EMPTY)]);
    } }";
    let text = run(async {
        let mut worker = Worker::new_with_ops(script, Limits::default(), own.clone()).await.unwrap();
        worker.exec(get()).await.unwrap().text().await.unwrap()
    });
    assert_eq!(
        text,
        r#"[203,"http://internal/a","POST http://internal/a",["key",{"deep":[1,null]}],true,["STORE","EMPTY"],true,[]]"#
    );
    assert_eq!(*own.lines.lock().unwrap(), ["Warn at work"]);
    let calls = own.calls.lock().unwrap();
    let calls: Vec<_> = calls.iter().map(|call| (&*call.binding, &*call.method, &*call.arguments)).collect();
    assert_eq!(calls, [("STORE", "get", r#"["key",{"deep":[1,null]}]"#), ("STORE", "put", r#"["key","value"]"#)]);
}

/// A program that replaces `fetch` is not passed by.
fn sockets_and_look_ups_are_asked_for() {
    let script = "import net from 'node:net'; import dns from 'node:dns/promises';
        const connect = () => new Promise((done) => net.connect(9, '127.0.0.1').once('error', (e) => done(e.message)));
        const lookUp = (name) => dns.lookup(name).then(({ address }) => address, (error) => error.message);
        export default { async fetch() { return new Response([await connect(), await lookUp('localhost')].join()); } };";
    let said = |operations: Arc<dyn Operations>| {
        run(async {
            let mut worker = Worker::new_with_ops(script, Limits::default(), operations).await.unwrap();
            worker.exec(get()).await.unwrap().text().await.unwrap()
        })
    };
    let refused = said(Arc::new(Own::default()));
    assert!(refused.contains("sockets are not allowed here"), "{refused}");
    assert!(refused.contains("look-ups are not allowed here"), "{refused}");
    let under_policy = said(plain());
    assert_eq!(under_policy.matches("is denied by the policy").count(), 2, "{under_policy}");
}

fn operations_that_fail_say_why() {
    let script = "export default { async fetch(request, env) {
        const said = [];
        for (const attempt of [() => env.STORE.fail(), () => env.STORE.get(1n), () => fetch('http://127.0.0.1:1/')]) {
            try { await attempt() } catch (error) { said.push(`${error.name}: ${error.message}`) }
        }
        return Response.json(said);
    } }";
    let text = run(async {
        let mut worker = Worker::new_with_ops(script, Limits::default(), Arc::new(Own::default())).await.unwrap();
        worker.exec(get()).await.unwrap().text().await.unwrap()
    });
    let said: Vec<String> = serde_json::from_str(&text).unwrap();
    assert_eq!(said[0], "TypeError: the store is closed");
    assert!(said[1].contains("BigInt"), "{said:?}");
    assert!(
        said[2].contains("127.0.0.1"),
        "the default sends under the policy, which has public addresses alone: {said:?}"
    );
}

fn bodies_are_read_anywhere() {
    let script = "export default { fetch(request) {
        let n = 0;
        return new Response(new ReadableStream({ pull(controller) {
            if (++n > 100) controller.close(); else controller.enqueue(new TextEncoder().encode(`${n},`));
        } }));
    } }";
    let outcome = run(async {
        let pool = IsolatePool::new(2, Limits::default()).unwrap();
        pool.execute("stream", script, plain(), get()).await.unwrap()
    });
    let text = std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || run(outcome.text()).unwrap())
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(text, (1..=100).map(|n| format!("{n},")).collect::<String>());
}
