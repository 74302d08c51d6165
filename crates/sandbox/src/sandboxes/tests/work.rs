//! Operations on a sandbox.

use bytes::Bytes;
use tokio::time::Instant;

use super::*;
use crate::exec::{ExecEvent, OUTPUT_LIMIT};
use crate::files::{FILE_LIMIT, FileKind, Remove, WriteFile};
use crate::job::{JobState, Seen};
use crate::{ExecResult, Signal};

fn out(result: &ExecResult) -> &str {
    std::str::from_utf8(&result.stdout).unwrap()
}

#[tokio::test(start_paused = true)]
async fn commands_say_how_they_ended() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let run = |line: &str| sandbox.exec(ExecRequest::shell(line));
    let hi = run("echo hi there").await.unwrap();
    assert_eq!(
        (out(&hi), hi.exit_code, hi.signal, hi.timed_out, hi.truncated),
        ("hi there\n", Some(0), None, false, false)
    );
    assert_eq!(run("warn careful").await.unwrap().stderr, "careful\n");
    assert_eq!(run("exit 42").await.unwrap().exit_code, Some(42));
    let died = run("die 11").await.unwrap();
    assert_eq!((died.exit_code, died.signal), (None, Some(11)));
    let flood = run("flood").await.unwrap();
    assert_eq!((flood.stdout.len() as u64, flood.truncated), (OUTPUT_LIMIT.bytes(), true));
    assert!(invalid(&run("nonsense").await.unwrap_err(), "command"));
    let argv = sandbox.exec(ExecRequest::argv(["echo", "a b"])).await.unwrap();
    assert_eq!(out(&argv), "a b\n");
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_timeout_the_next_command_gets_its_own_output() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let began = Instant::now();
    let late = ExecRequest { timeout: Some(SECOND), ..ExecRequest::shell("sleep 60") };
    let late = sandbox.exec(late).await.unwrap();
    assert_eq!((late.timed_out, late.signal, began.elapsed()), (true, Some(9), SECOND));
    assert_eq!(out(&sandbox.exec(ExecRequest::shell("echo next")).await.unwrap()), "next\n");
    let usual = sandbox.exec(ExecRequest::shell("sleep 1000")).await.unwrap();
    assert_eq!((usual.timed_out, usual.duration), (true, MINUTE), "the default deadline");
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn input_environment_and_folder_reach_the_command() {
    let (sandboxes, driver) = usual().await;
    let config = SandboxConfig::builder().env("A", "sandbox").env("B", "sandbox").build().unwrap();
    let sandbox = sandboxes.create(&session("me"), config).await.unwrap();
    let with =
        |line: &str| ExecRequest { env: [("B".to_owned(), "call".to_owned())].into(), ..ExecRequest::shell(line) };
    assert_eq!(out(&sandbox.exec(with("env A")).await.unwrap()), "sandbox\n");
    assert_eq!(out(&sandbox.exec(with("env B")).await.unwrap()), "call\n", "the call's own is above");
    let cat = ExecRequest { stdin: Some(Bytes::from_static(b"\0\xff in")), ..ExecRequest::shell("cat") };
    assert_eq!(sandbox.exec(cat).await.unwrap().stdout, &b"\0\xff in"[..]);
    let pwd = ExecRequest { cwd: Some("/tmp".to_owned()), ..ExecRequest::shell("pwd") };
    assert_eq!(out(&sandbox.exec(pwd).await.unwrap()), "/tmp\n");
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn bad_requests_are_errors_that_name_the_field() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let echo = || ExecRequest::shell("echo");
    let code = |session: &str| {
        let session = Some(session.to_owned());
        ExecRequest::new(ExecCommand::Code(Code { language: Language::Sh, source: Bytes::new(), session }))
    };
    for (field, request) in [
        ("timeout", ExecRequest { timeout: Some(Duration::ZERO), ..echo() }),
        ("timeout", ExecRequest { timeout: Some(MINUTE * 61), ..echo() }),
        ("output_limit", ExecRequest { output_limit: Some(ByteSize::mb(17)), ..echo() }),
        ("env", ExecRequest { env: [(String::new(), String::new())].into(), ..echo() }),
        ("cwd", ExecRequest { cwd: Some(String::new()), ..echo() }),
        ("command", ExecRequest::argv([""; 0])),
        ("command", ExecRequest::argv(["a", "b\0"])),
        ("command", ExecRequest::shell("a\0b")),
        ("session", code("")),
        ("session", code("a b")),
        ("session", code(&"x".repeat(65))),
    ] {
        let error = sandbox.exec(request).await.unwrap_err();
        assert!(invalid(&error, field), "{field}: {error}");
    }
    assert!(invalid(&sandbox.read_file("").await.unwrap_err(), "path"));
    assert!(invalid(&sandbox.read_file("a\0b").await.unwrap_err(), "path"));
    assert!(invalid(&sandbox.list_directory("/work", None, 0).await.unwrap_err(), "limit"));
    let mode = WriteFile { path: "a".to_owned(), content: Bytes::new(), mode: Some(0o10000) };
    assert!(invalid(&sandbox.write_file(mode).await.unwrap_err(), "mode"));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn code_of_five_megabytes_runs_and_a_session_takes_turns() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let source = "é\0\r\n".repeat(1 << 20);
    let long =
        ExecRequest { output_limit: Some(ByteSize::mb(16)), ..ExecRequest::code(Language::Python, source.clone()) };
    assert_eq!(out(&sandbox.exec(long).await.unwrap()), format!("python {source}"));
    assert_eq!(out(&sandbox.execute(Language::Bash, "x").await.unwrap()), "bash x");
    let turn = || {
        let session = Some("notebook".to_owned());
        let code = Code { language: Language::Python, source: Bytes::from_static(b"x"), session };
        sandbox.exec(ExecRequest::new(ExecCommand::Code(code)))
    };
    let (one, two, three) = tokio::join!(turn(), turn(), turn());
    let outs = [one.unwrap(), two.unwrap(), three.unwrap()];
    assert_eq!(outs.each_ref().map(out), ["1 python x", "2 python x", "3 python x"]);
    sandbox.end_code_session(Language::Python, "notebook").await.unwrap();
    assert_eq!(out(&turn().await.unwrap()), "1 python x");
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn commands_of_one_sandbox_run_side_by_side_and_are_shown_as_they_go() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let began = Instant::now();
    let (a, b) = tokio::join!(sandbox.exec(ExecRequest::shell("sleep 5")), sandbox.exec(ExecRequest::shell("sleep 5")));
    assert_eq!((a.unwrap().exit_code, b.unwrap().exit_code, began.elapsed()), (Some(0), Some(0), SECOND * 5));
    let mut stream = sandbox.stream(ExecRequest::shell("echo hi")).await.unwrap();
    assert_eq!(stream.next().await.unwrap(), ExecEvent::Stdout(Bytes::from_static(b"hi\n")));
    assert!(matches!(stream.next().await.unwrap(), ExecEvent::Ended(end) if end.exit_code == Some(0)));
    let stream = sandbox.stream(ExecRequest::shell("sleep 50")).await.unwrap();
    stream.signal(Signal(15));
    assert_eq!(stream.collect().await.unwrap().signal, Some(15));
    let ended = sandbox.stream(ExecRequest::shell("sleep 50")).await.unwrap();
    sandboxes.destroy(&session("me"), sandbox.id()).await.unwrap();
    assert_eq!(ended.collect().await, Err(SandboxError::Destroyed));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn jobs_go_on_alone() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let echo = sandbox.start_job(ExecRequest::shell("echo from a job")).await.unwrap();
    let sleeper = sandbox.start_job(ExecRequest::shell("sleep 1000")).await.unwrap();
    let JobState::Ended(end) = sandbox.wait_job(echo, MINUTE).await.unwrap() else { panic!("it ends") };
    assert_eq!(end.exit_code, Some(0));
    let output = sandbox.poll_job(echo, Seen::default(), Duration::ZERO).await.unwrap();
    assert_eq!((output.stdout.as_ref(), output.missed), (&b"from a job\n"[..], 0));
    let again = sandbox.poll_job(echo, output.seen, MINUTE).await.unwrap();
    assert_eq!(again.stdout, Bytes::new(), "seen already");
    assert_eq!(
        sandbox.wait_job(sleeper, MINUTE).await.unwrap(),
        JobState::Running,
        "beyond a command's usual deadline"
    );
    assert!(sandbox.signal_job(sleeper, Signal(0)).is_err());
    sandbox.signal_job(sleeper, Signal(15)).unwrap();
    let JobState::Ended(end) = sandbox.wait_job(sleeper, MINUTE).await.unwrap() else { panic!("it was told to") };
    assert_eq!(end.signal, Some(15));
    let titles: Vec<_> = sandbox.jobs().into_iter().map(|job| job.title).collect();
    assert_eq!(titles, ["echo from a job", "sleep 1000"]);
    let unknown = sandbox.start_job(ExecRequest::shell("nonsense")).await.unwrap();
    assert!(matches!(sandbox.wait_job(unknown, MINUTE).await.unwrap(), JobState::Failed { .. }));
    let flood = sandbox.start_job(ExecRequest::shell("flood")).await.unwrap();
    sandbox.wait_job(flood, MINUTE).await.unwrap();
    let output = sandbox.poll_job(flood, Seen::default(), Duration::ZERO).await.unwrap();
    assert_eq!(output.stdout.len() as u64, OUTPUT_LIMIT.bytes(), "the last of it");
    assert!(output.missed > 0);
    for _ in 0..100 {
        let job = sandbox.start_job(ExecRequest::shell("echo")).await.unwrap();
        sandbox.wait_job(job, MINUTE).await.unwrap();
    }
    assert_eq!(sandbox.jobs().len(), 32, "old ones make room");
    assert!(matches!(sandbox.wait_job(echo, MINUTE).await, Err(SandboxError::NoJob(_))));
    let last = sandbox.start_job(ExecRequest::shell("sleep 1000")).await.unwrap();
    sandboxes.destroy(&session("me"), sandbox.id()).await.unwrap();
    assert!(matches!(sandbox.wait_job(last, MINUTE).await.unwrap(), JobState::Failed { .. }));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn files_go_in_and_out_byte_for_byte() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let content: Bytes = (0..10 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = |path: &str, content: Bytes| WriteFile { path: path.to_owned(), content, mode: Some(0o600) };
    sandbox.write_file(file("/work/deep/er/data.bin", content.clone())).await.unwrap();
    assert!(sandbox.read_file("deep/er/data.bin").await.unwrap() == content, "paths count from /work");
    let info = sandbox.stat("/work/deep/er/data.bin").await.unwrap();
    assert_eq!((info.kind, info.size, info.mode), (FileKind::File, ByteSize::mb(10), 0o600));
    sandbox.write_file(file("/work/empty", Bytes::new())).await.unwrap();
    assert_eq!(sandbox.read_file("/work/empty").await.unwrap(), Bytes::new());
    let names = |page: &crate::DirectoryPage| page.entries.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>();
    let page = sandbox.list_directory("/work", None, 1).await.unwrap();
    assert_eq!((names(&page), page.next.as_deref()), (vec!["deep".to_owned()], Some("deep")));
    let page = sandbox.list_directory("/work", page.next.as_deref(), 10).await.unwrap();
    assert_eq!((names(&page), page.next), (vec!["empty".to_owned()], None));
    sandbox.rename("/work/empty", "/work/other").await.unwrap();
    sandbox.make_directory("/work/a/b").await.unwrap();
    assert!(matches!(sandbox.remove("/work/deep", Remove::One).await, Err(SandboxError::File { .. })));
    sandbox.remove("/work/deep", Remove::Tree).await.unwrap();
    let gone = sandbox.read_file("/work/deep/er/data.bin").await.unwrap_err();
    assert_eq!(
        (gone.code().as_str(), gone.to_string()),
        ("not_found", "there is no file \"/work/deep/er/data.bin\"".to_owned())
    );
    let full = sandbox.write_file(file("/full/x", Bytes::from_static(b"x"))).await.unwrap_err();
    assert_eq!(full.code().as_str(), "limit");
    let large = Bytes::from(vec![0; FILE_LIMIT.bytes() as usize + 1]);
    assert!(matches!(sandbox.write_file(file("/work/x", large)).await, Err(SandboxError::TooLarge { .. })));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn links_lead_to_a_file_until_their_time_or_their_sandbox_is_over() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let sandbox = create(&sandboxes, &me).await;
    let link = sandboxes.link(&me, sandbox.id(), "/work/a", Direction::Download, MINUTE).unwrap();
    let (found, file) = sandboxes.follow(link.reveal(), Direction::Download).unwrap();
    assert_eq!((found.id(), file.path.as_str()), (sandbox.id(), "/work/a"));
    assert!(sandboxes.follow(link.reveal(), Direction::Upload).is_err());
    let other = sandboxes.link(&me, sandbox.id(), "/work/a", Direction::Upload, MINUTE).unwrap();
    sandboxes.destroy(&me, sandbox.id()).await.unwrap();
    assert_eq!(sandboxes.follow(other.reveal(), Direction::Upload).err(), Some(SandboxError::NoLink));
    close(&sandboxes, &driver).await;
}

struct Echo;

impl IsolateRunner for Echo {
    fn run(&self, run: IsolateRun) -> crate::driver::BoxFuture<'_, Result<ExecResult, SandboxError>> {
        let end =
            crate::ExecEnd { exit_code: Some(0), signal: None, truncated: false, timed_out: false, duration: SECOND };
        Box::pin(async move { Ok(end.with_output(run.source, Bytes::new())) })
    }
}

#[tokio::test(start_paused = true)]
async fn isolates_answer_in_the_same_shape_where_there_are_some() {
    let driver = FakeDriver::new();
    let run = || IsolateRun { source: Bytes::from_static(b"1 + 1"), env: vec![], timeout: SECOND };
    let without = Sandboxes::new(config(&driver));
    assert_eq!(without.run_isolate(run()).await.unwrap_err().code().as_str(), "unavailable");
    let with = Sandboxes::new(SandboxesConfig { isolates: Some(Arc::new(Echo)), ..config(&driver) });
    assert_eq!(with.run_isolate(run()).await.unwrap().stdout, "1 + 1");
}
