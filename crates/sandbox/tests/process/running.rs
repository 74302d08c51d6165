//! Commands, languages, sessions, deadlines, output.

use std::time::Duration;

use bytes::Bytes;
use hearth_sandbox::{Code, ErrorCode, ExecCommand, ExecEnd, ExecEvent, ExecRequest, Language, Sandbox, WriteFile};

use crate::{file, out, pool, sandbox, sh};

fn in_session(language: Language, name: &str, source: &str) -> ExecRequest {
    let (source, session) = (Bytes::from(source.to_owned()), Some(name.to_owned()));
    ExecRequest::new(ExecCommand::Code(Code { language, source, session }))
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_give_back_what_they_print_and_how_they_ended() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let result = sh(&sandbox, "echo out; echo err >&2; exit 42").await;
    assert_eq!((out(&result).as_str(), &result.stderr[..], result.exit_code), ("out\n", &b"err\n"[..], Some(42)));
    assert_eq!(sh(&sandbox, "no-such-program").await.exit_code, Some(127));
    assert_eq!(sandbox.exec(ExecRequest::argv(["no-such-program"])).await.unwrap().exit_code, Some(127));
    assert_eq!(sandbox.exec(ExecRequest::argv(["/etc/passwd"])).await.unwrap().exit_code, Some(126));
    assert_eq!(sh(&sandbox, "kill -9 $$").await.signal, Some(9));
    let words = sandbox.exec(ExecRequest::argv(["printf", "%s|", "a b", "$HOME", "'"])).await.unwrap();
    assert_eq!(out(&words), "a b|$HOME|'|");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_do_not_have_what_puts_their_agent_first() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let nice = |printed: &str| printed.trim().parse::<i32>().unwrap();
    let own = out(&sh(&sandbox, "cut -d ' ' -f 19 /proc/self/stat").await);
    assert!(nice(&own) >= 0, "{own}");
    for (language, code) in [
        (Language::Python, "import os\nprint(os.getpriority(os.PRIO_PROCESS, 0))"),
        (Language::JavaScript, "console.log(require('os').getPriority())"),
    ] {
        let own = out(&sandbox.execute(language, code).await.unwrap());
        assert!(nice(&own) >= 0, "{language}: {own}");
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_variables_and_folder_are_those_that_were_asked_for() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let request = ExecRequest {
        stdin: Some(Bytes::from(vec![b'x'; 3 << 20])),
        env: [("NAME".to_owned(), "a\nb".to_owned())].into(),
        cwd: Some("/tmp".to_owned()),
        ..ExecRequest::shell("wc -c; pwd; echo \"$NAME\"")
    };
    assert_eq!(out(&sandbox.exec(request).await.unwrap()), format!("{}\n/tmp\na\nb\n", 3 << 20));
    assert_eq!(out(&sh(&sandbox, "pwd; wc -c").await), "/work\n0\n");
    for language in [Language::Python, Language::JavaScript] {
        let code = match language {
            Language::Python => "import os, sys\nprint(sys.stdin.read(), os.environ['NAME'], os.getcwd())",
            _ => "console.log(require('fs').readFileSync(0, 'utf8'), process.env.NAME, process.cwd())",
        };
        let request = ExecRequest {
            stdin: Some(Bytes::from_static(b"in")),
            env: [("NAME".to_owned(), "value".to_owned())].into(),
            cwd: Some("/tmp".to_owned()),
            ..ExecRequest::code(language, code)
        };
        assert_eq!(out(&sandbox.exec(request).await.unwrap()), "in value /tmp\n", "{language}");
    }
    let nowhere = ExecRequest { cwd: Some("/nowhere".to_owned()), ..ExecRequest::shell("true") };
    assert_eq!(sandbox.exec(nowhere).await.unwrap_err().code(), ErrorCode::InvalidArgument);
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_language_prints_and_fails() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let programs = [
        (Language::Python, "print('a')", "raise ValueError('b')", "b"),
        (Language::JavaScript, "console.log('a')", "throw new Error('b')", "Error: b"),
        (Language::JavaScript, "import fs from 'node:fs'; console.log(await 'a')", "import 'none'", "none"),
        (Language::Bash, "[[ a == a ]] && echo a", "echo b >&2; exit 1", "b"),
        (Language::Sh, "echo a", "echo b >&2; exit 1", "b"),
    ];
    for (language, prints, fails, message) in programs {
        let printed = sandbox.execute(language, prints).await.unwrap();
        assert_eq!((out(&printed).as_str(), printed.exit_code), ("a\n", Some(0)), "{language}: {printed:?}");
        let failed = sandbox.execute(language, fails).await.unwrap();
        let said = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert_eq!(failed.exit_code, Some(1), "{language}: {said}");
        assert!(said.contains(message), "{language}: {said}");
    }
    let proxies = sandbox.execute(Language::Python, "import sys; sys.exit(7)").await.unwrap();
    assert_eq!(proxies.exit_code, Some(7));
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_is_a_file_whatever_is_in_it() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let long = format!("x = '''{}'''\nprint(len(x))", "y".repeat(5 << 20));
    assert_eq!(out(&sandbox.execute(Language::Python, long).await.unwrap()), format!("{}\n", 5 << 20));
    let odd = "print(r'''$HOME `id` \\ \" ' 🔥''')\r\nprint('next')\r\n";
    assert_eq!(out(&sandbox.execute(Language::Python, odd).await.unwrap()), "$HOME `id` \\ \" ' 🔥\nnext\n");
    let zero = sandbox.execute(Language::JavaScript, "console.log('\0'.length)").await.unwrap();
    assert_eq!(out(&zero), "1\n");
    let line = format!("printf %s {} | wc -c", "z".repeat(300 << 10));
    assert_eq!(out(&sh(&sandbox, &line).await).trim(), (300 << 10).to_string());
    // Nothing of them stays.
    assert_eq!(out(&sh(&sandbox, "ls /tmp/.hearth | grep -c main").await).trim(), "0");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_the_whole_tree_and_the_next_command_gets_its_own_output() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    for line in
        ["sleep 1000", "setsid sleep 1000 & sleep 1000 & wait", "(trap '' TERM HUP; nohup sleep 1000 &) ; sleep 1000"]
    {
        let request =
            ExecRequest { timeout: Some(Duration::from_secs(1)), ..ExecRequest::shell(format!("echo before; {line}")) };
        let result = sandbox.exec(request).await.unwrap();
        assert!(result.timed_out, "{line}: {result:?}");
        assert_eq!((out(&result).as_str(), result.signal), ("before\n", Some(2)), "{line}");
        // What is killed needs a moment to be gone; what is not killed would be there until this, too, is at its deadline.
        let next =
            sh(&sandbox, "while cat /proc/[0-9]*/comm 2>/dev/null | grep -q sleep; do :; done; echo after").await;
        assert_eq!(out(&next), "after\n", "{line}");
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stays_in_the_background_does_not_hold_its_command_up() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let result = sh(&sandbox, "sleep 1000 & echo hi").await;
    assert_eq!((out(&result).as_str(), result.timed_out), ("hi\n", false));
    // A server is a job of its own: it is there for the next command.
    let server = "while [ ! -e go ]; do sleep 0.01; done; echo served > served";
    sandbox.start_job(ExecRequest::shell(server)).await.unwrap();
    let served = sh(&sandbox, "touch go; while [ ! -s served ]; do sleep 0.01; done; cat served").await;
    assert_eq!(out(&served), "served\n");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_behind_ends_with_it() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    // What ends only with itself, and is looked for below.
    let popen = "import subprocess\n\
                 subprocess.Popen(['sleep', '101'], start_new_session=True, env={}, stdout=subprocess.DEVNULL)";
    let daemon = "import os, time\n\
                  if os.fork() == 0:\n  \
                    os.setsid()\n  \
                    if os.fork() == 0:\n    \
                      open('/proc/self/comm', 'w').write('leftover')\n    \
                      open('/work/up', 'w')\n    \
                      time.sleep(101)\n  \
                    os._exit(0)\n\
                  os.wait()\n\
                  while not os.path.exists('/work/up'): time.sleep(0.01)";
    let requests = [
        ExecRequest::shell("sleep 101 & true"),
        ExecRequest::shell("setsid sleep 101 & true"),
        ExecRequest::shell("env -i setsid /bin/sh -c '/bin/sleep 101 & exec /bin/true' & wait"),
        ExecRequest::code(Language::Python, popen),
        ExecRequest::code(Language::Python, daemon),
    ];
    for request in requests {
        let result = sandbox.exec(request.clone()).await.unwrap();
        assert_eq!(result.exit_code, Some(0), "{result:?}");
        // What is killed needs a moment to be gone.
        let line = "while cat /proc/[0-9]*/comm 2>/dev/null | grep -q -e sleep -e leftover; do :; done; echo none";
        let left = sandbox.exec(ExecRequest::code(Language::Bash, line)).await.unwrap();
        assert_eq!((out(&left).as_str(), left.timed_out), ("none\n", false), "{request:?}");
    }
    // But not what a session keeps, nor what is a job.
    let job = sandbox.start_job(ExecRequest::shell("exec sleep 101")).await.unwrap();
    let kept = "import subprocess\np = subprocess.Popen(['sleep', '101'])";
    sandbox.exec(in_session(Language::Python, "one", kept)).await.unwrap();
    let still = sandbox.exec(in_session(Language::Python, "one", "print(p.poll())")).await.unwrap();
    assert_eq!(out(&still), "None\n", "{still:?}");
    let state = sandbox.wait_job(job, Duration::ZERO).await.unwrap();
    assert_eq!(state, hearth_sandbox::JobState::Running);
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_side_by_side() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    // Each waits for the other.
    let (first, second) = tokio::join!(
        sh(&sandbox, "touch a; while [ ! -e b ]; do sleep 0.01; done; echo first"),
        sh(&sandbox, "touch b; while [ ! -e a ]; do sleep 0.01; done; echo second"),
    );
    assert_eq!((out(&first).as_str(), out(&second).as_str()), ("first\n", "second\n"));
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_its_variables_and_another_has_none_of_them() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let programs = [
        (Language::Python, "import math\nx = 20 + 1", "def f(): return x * 2\nprint(f())", "print(x)"),
        (Language::JavaScript, "const x = await Promise.resolve(21)", "console.log(x * 2)", "console.log(x)"),
        (Language::Bash, "x=21; f() { echo $((x * 2)); }", "f", "set -u; echo $x"),
    ];
    for (language, set, show, missing) in programs {
        let ok = sandbox.exec(in_session(language, "one", set)).await.unwrap();
        assert_eq!((ok.exit_code, out(&ok)), (Some(0), String::new()), "{language}: {ok:?}");
        let shown = sandbox.exec(in_session(language, "one", show)).await.unwrap();
        assert_eq!(out(&shown), "42\n", "{language}: {shown:?}");
        let other = sandbox.exec(in_session(language, "two", missing)).await.unwrap();
        assert!(other.exit_code.is_some_and(|code| code != 0), "{language}: {other:?}");
        let fresh = sandbox.execute(language, missing).await.unwrap();
        assert!(fresh.exit_code.is_some_and(|code| code != 0), "{language}: {fresh:?}");
    }
    // What ends a run does not end a python session; what kills it does, and the name begins anew.
    let proxies = sandbox.exec(in_session(Language::Python, "one", "import sys; sys.exit(3)")).await.unwrap();
    assert_eq!(proxies.exit_code, Some(3));
    assert_eq!(out(&sandbox.exec(in_session(Language::Python, "one", "print(x)")).await.unwrap()), "21\n");
    let kills = "import os; os.kill(os.getpid(), 9)";
    assert_eq!(sandbox.exec(in_session(Language::Python, "one", kills)).await.unwrap().signal, Some(9));
    let anew = sandbox.exec(in_session(Language::Python, "one", "print(x)")).await.unwrap();
    assert_eq!(anew.exit_code, Some(1), "{anew:?}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_warm_interpreter_share_nothing() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let code = "import json, random, sys\njson.seen = getattr(json, 'seen', 0) + 1\nprint(json.seen, random.random(), file=sys.stdout)";
    let (first, second) = (
        sandbox.execute(Language::Python, code).await.unwrap(),
        sandbox.execute(Language::Python, code).await.unwrap(),
    );
    assert!(out(&first).starts_with("1 ") && out(&second).starts_with("1 "), "{first:?} {second:?}");
    assert_ne!(first.stdout, second.stdout, "random numbers are not the same twice");
    let code = "globalThis.seen = (globalThis.seen ?? 0) + 1; console.log(globalThis.seen)";
    for _ in 0..2 {
        assert_eq!(out(&sandbox.execute(Language::JavaScript, code).await.unwrap()), "1\n");
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_shows_the_program_and_nothing_of_what_runs_it() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let failed = sandbox.execute(Language::Python, "def f():\n    raise ValueError('here')\nf()").await.unwrap();
    let trace = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(trace.contains("line 3, in <module>") && trace.contains("raise ValueError('here')"), "{trace}");
    assert!(!trace.contains("zygote"), "{trace}");
    let wrong = sandbox.execute(Language::Python, "a = (").await.unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("SyntaxError"), "{wrong:?}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_the_same_inside_and_outside() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let content: Bytes = (0..10_u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let written = WriteFile { mode: Some(0o755), ..file("/work/a/b", content.clone()) };
    sandbox.write_file(written).await.unwrap();
    assert_eq!(sandbox.read_file("/work/a/b").await.unwrap(), content);
    assert_eq!(out(&sh(&sandbox, "stat -c '%s %a' a/b; whoami").await), format!("{} 755\nsandbox\n", 10 << 20));
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_zombies_are_left_by_those_whose_parents_went_away() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    sh(&sandbox, "for i in 1 2 3 4 5 6 7 8; do (sleep 0 & exec true) & done; wait").await;
    // Reaped when they end, which may be a moment after the command has.
    let line = "while grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | grep -q .; do sleep 0.01; done; echo none";
    assert_eq!(out(&sh(&sandbox, line).await), "none\n");
    drop(sandbox);
    pool.shutdown().await;
}

/// How it ended, what it printed, and whether the session was lost.
async fn watched(sandbox: &Sandbox, request: ExecRequest) -> (ExecEnd, String, bool) {
    let mut running = sandbox.stream(request).await.unwrap();
    let (mut printed, mut lost) = (Vec::new(), false);
    loop {
        match running.next().await.unwrap() {
            ExecEvent::Stdout(bytes) => printed.extend_from_slice(&bytes),
            ExecEvent::SessionLost => lost = true,
            ExecEvent::Ended(end) => return (end, String::from_utf8(printed).unwrap(), lost),
            ExecEvent::Stderr(_) | ExecEvent::Omitted(..) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_interrupts_a_session_and_its_variables_stay() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let programs = [
        (Language::Python, "x = 42", "while True: pass", "print(x)"),
        (Language::Python, "x = 42", "import subprocess; subprocess.run(['sleep', '1000'])", "print(x)"),
        (Language::JavaScript, "const x = 42", "while (true) {}", "console.log(x)"),
        (Language::JavaScript, "const y = 42", "await new Promise(() => setTimeout(() => {}, 1e9))", "console.log(y)"),
        (Language::TypeScript, "const z: number = 42", "while (true) {}", "console.log(z)"),
        (Language::Bash, "x=42", "sleep 1000; x=1", "echo $x"),
        (Language::Bash, "y=42", "while :; do :; done; y=1", "echo $y"),
    ];
    for (language, set, endless, show) in programs {
        let set = sandbox.exec(in_session(language, "kept", set)).await.unwrap();
        assert_eq!(set.exit_code, Some(0), "{language}: {set:?}");
        let request = ExecRequest { timeout: Some(Duration::from_secs(1)), ..in_session(language, "kept", endless) };
        let (end, _, lost) = watched(&sandbox, request).await;
        assert!(end.timed_out && !lost && end.exit_code.is_some_and(|code| code != 0), "{language} {endless}: {end:?}");
        let (_, shown, _) = watched(&sandbox, in_session(language, "kept", show)).await;
        assert_eq!(shown, "42\n", "{language} {endless}");
    }
    // One that does not let itself be interrupted is killed, and that is said.
    let stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let request =
        ExecRequest { timeout: Some(Duration::from_secs(1)), ..in_session(Language::Python, "kept", stubborn) };
    let (end, _, lost) = watched(&sandbox, request).await;
    assert!(end.timed_out && lost && end.signal == Some(9), "{end:?}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cancelled_run_leaves_in_its_session_is_there_for_the_next() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let mut running = sandbox
        .stream(in_session(Language::Python, "one", "x = 42\nprint('begun', flush=True)\nwhile True: pass"))
        .await
        .unwrap();
    assert_eq!(running.next().await.unwrap(), ExecEvent::Stdout("begun\n".into()));
    drop(running);
    // It comes before the end of the one that is being interrupted.
    let (end, shown, _) = watched(&sandbox, in_session(Language::Python, "one", "print(x)")).await;
    assert_eq!((end.exit_code, shown.as_str()), (Some(0), "42\n"));
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_session_shows_values_as_a_notebook_does() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let run = |code: &str| watched(&sandbox, in_session(Language::Python, "one", code));
    for (code, printed) in [
        ("6 * 7", "42\n"),
        ("x = [1]\nx", "[1]\n"),
        ("x;", ""),
        ("None", ""),
        ("_", "[1]\n"),
        ("display(1, 'a')\nx = 2", "1\n'a'\n"),
        ("def f():\n  return 3\nf()", "3\n"),
        ("# nothing", ""),
    ] {
        let (end, shown, _) = run(code).await;
        assert_eq!((end.exit_code, shown.as_str()), (Some(0), printed), "{code}");
    }
    let rich = "class Table:\n  def __repr__(self): return 'table'\n  def _repr_html_(self): return '<table>'\n  \
                def _repr_png_(self): return b'png'\nTable()";
    assert_eq!(run(rich).await.1, "table\n");
    let names = out(&sh(&sandbox, "cd /tmp/.hearth/shown/one && grep -H . *").await);
    let names: Vec<&str> = names.lines().map(|line| line.split_once('.').unwrap().1).collect();
    assert_eq!(names, ["html:<table>", "png:png"]);
    let figures = "import sys, types\nclass Figure:\n  def savefig(self, to, **_): to.write(b'figure')\n\
                   shown = {1: Figure(), 2: Figure()}\npyplot = types.ModuleType('matplotlib.pyplot')\n\
                   pyplot.get_fignums = lambda: list(shown)\npyplot.figure = shown.get\n\
                   pyplot.close = lambda _: shown.clear()\nsys.modules['matplotlib.pyplot'] = pyplot";
    sh(&sandbox, "rm -r /tmp/.hearth/shown/one").await;
    assert_eq!(run(figures).await.0.exit_code, Some(0));
    assert_eq!(out(&sh(&sandbox, "cat /tmp/.hearth/shown/one/*.png").await), "figurefigure");
    assert_eq!(run("len(shown)").await.1, "0\n", "figures that were shown are closed");
    // A fresh program is no notebook.
    assert_eq!(out(&sandbox.execute(Language::Python, "6 * 7").await.unwrap()), "");
    drop(sandbox);
    pool.shutdown().await;
}
