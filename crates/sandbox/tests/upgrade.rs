//! Process sandboxes that go on in another program. Here both programs are one process, which makes
//! no difference to the sandboxes: one exports, the other imports.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_sandbox::drivers::process::{Process, SpawnerCommand};
use hearth_sandbox::{
    Caller, Code, Direction, Drivers, ErrorCode, ExecCommand, ExecEvent, ExecRequest, JobState, Language,
    NetworkPolicy, PoolConfig, Sandbox, SandboxConfig, SandboxState, Sandboxes, SandboxesConfig, Seen, SessionId,
    Signal, UpgradePayload, WriteFile,
};

/// Timeout for what happens soon on any machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

async fn program() -> Sandboxes {
    let program = env!("CARGO_BIN_EXE_hearth-spawner").into();
    let driver = Arc::new(
        Process::new(SpawnerCommand { program, arguments: Vec::new() })
            .with_disks(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("disks")),
    );
    let pool = PoolConfig { min_size: 0, ..PoolConfig::new(Drivers::new(driver, [])) };
    let sandboxes = Sandboxes::new(SandboxesConfig::new(pool));
    sandboxes.start().await.unwrap();
    sandboxes
}

async fn next_program(before: &Sandboxes) -> Sandboxes {
    let left = before.export(TEST_TIMEOUT).await;
    let after = program().await;
    after.import(left);
    after
}

async fn out(sandbox: &Sandbox, line: &str) -> String {
    String::from_utf8(sandbox.exec(ExecRequest::shell(line)).await.unwrap().stdout.to_vec()).unwrap()
}

fn in_session(source: &'static str) -> ExecRequest {
    let session = Some("mine".to_owned());
    ExecRequest::new(ExecCommand::Code(Code { language: Language::Python, source: source.into(), session }))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_a_sandbox_goes_on_through_two_programs() {
    let first = program().await;
    let owner = Caller::from(SessionId::new("a session"));
    let network = NetworkPolicy::allow_list(["example.com"]).unwrap();
    let config = SandboxConfig::builder().env("NAME", "value").network(network).ttl(TEST_TIMEOUT * 10).build().unwrap();
    let sandbox = first.create(&owner, config.clone()).await.unwrap();
    let id = sandbox.id();
    let file = WriteFile { path: "kept".to_owned(), content: "content".into(), mode: None };
    sandbox.write_file(file).await.unwrap();
    sandbox.exec(in_session("x = 41")).await.unwrap();
    // It writes all the while: much of it is on its way at any moment.
    let wordy = "i=0; while [ ! -e /work/go ]; do i=$((i + 1)); echo line $i; done; exit 7";
    let job = sandbox.start_job(ExecRequest::shell(wordy)).await.unwrap();
    let over = sandbox.start_job(ExecRequest::shell("echo over; exit 3")).await.unwrap();
    let ended = sandbox.wait_job(over, TEST_TIMEOUT).await.unwrap();
    let link = first.link(&owner, id, "kept", Direction::Download, TEST_TIMEOUT).unwrap();
    let before = first.info(&owner, id).unwrap();

    let second = next_program(&first).await;
    assert_eq!(first.get(&owner, id).map(drop).unwrap_err().code(), ErrorCode::Unavailable);
    assert_eq!(sandbox.execute(Language::Sh, "true").await.unwrap_err().code(), ErrorCode::Unavailable);
    drop((sandbox, first));
    let third = next_program(&second).await;
    drop(second);

    assert!(third.get(&Caller::from(SessionId::new("another")), id).is_err());
    let sandbox = third.get(&owner, id).unwrap();
    let after = third.info(&owner, id).unwrap();
    assert_eq!((after.created_at, after.expires_at, after.config), (before.created_at, before.expires_at, config));
    assert_eq!((after.shape, after.languages, after.jobs), (before.shape, before.languages, before.jobs));
    assert!(after.age >= before.age);
    assert_eq!(out(&sandbox, "cat kept; echo $NAME $HTTP_PROXY | cut -c1-12").await, "contentvalue http:/\n");
    assert_eq!(sandbox.exec(in_session("print(x + 1)")).await.unwrap().stdout, "42\n");
    assert_eq!(sandbox.wait_job(over, TEST_TIMEOUT).await.unwrap(), ended);
    assert_eq!(sandbox.poll_job(over, Seen::default(), TEST_TIMEOUT).await.unwrap().stdout, "over\n");
    assert_eq!(third.follow(link.reveal(), Direction::Download).unwrap().0.id(), id);
    out(&sandbox, "touch /work/go").await;
    let JobState::Ended(end) = sandbox.wait_job(job, TEST_TIMEOUT).await.unwrap() else { panic!("it goes on") };
    assert_eq!(end.exit_code, Some(7));
    // No line is missing, none came twice, and none was cut.
    let told = sandbox.poll_job(job, Seen::default(), TEST_TIMEOUT).await.unwrap();
    let text = String::from_utf8(told.stdout.to_vec()).unwrap();
    let mut lines = text.split_inclusive('\n');
    let first = if told.missed > 0 { lines.nth(1) } else { lines.next() };
    let number = |line: &str| line.trim_end().strip_prefix("line ").unwrap().parse::<u64>().unwrap();
    let begin = number(first.unwrap());
    for (expected, line) in (begin + 1..).zip(lines) {
        assert_eq!(number(line), expected);
    }
    assert_eq!(told.missed == 0, text.starts_with("line 1\n"));
    let stats = third.stats();
    assert!(stats.pool.adds_up() && (stats.pool.created, stats.pool.live, stats.held) == (1, 1, 1), "{stats:?}");
    let another = third.create(&owner, SandboxConfig::default()).await.unwrap();
    assert_eq!(out(&another, "echo new").await, "new\n");
    let end = third.shutdown().await;
    assert_eq!((end.created, end.destroyed, end.live), (2, 2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_at_the_deadline_ends_and_the_sandbox_goes_on() {
    let first = program().await;
    let sandbox = first.create(&Caller::Admin, SandboxConfig::default()).await.unwrap();
    let job = sandbox.start_job(ExecRequest::shell("echo begun; sleep 3600")).await.unwrap();
    assert_eq!(sandbox.poll_job(job, Seen::default(), TEST_TIMEOUT).await.unwrap().stdout, "begun\n");
    let poll = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.poll_job(job, Seen { stdout: 6, stderr: 0 }, TEST_TIMEOUT * 60).await }
    });
    let mut call = sandbox.stream(ExecRequest::shell("echo $$; sleep 3600")).await.unwrap();
    let ExecEvent::Stdout(process) = call.next().await.unwrap() else { panic!("it prints its process id") };
    let process = String::from_utf8(process.to_vec()).unwrap().trim().to_owned();
    let left = first.export(Duration::from_millis(50)).await;
    assert_eq!(call.next().await.unwrap_err().code(), ErrorCode::Unavailable);
    assert_eq!(poll.await.unwrap().unwrap().state, JobState::Running, "a waiting poll returns without news");
    let second = program().await;
    second.import(left);
    let sandbox = second.get(&Caller::Admin, sandbox.id()).unwrap();
    let start = Instant::now();
    while out(&sandbox, &format!("kill -0 {process} 2>/dev/null && echo runs; true")).await == "runs\n" {
        assert!(start.elapsed() < TEST_TIMEOUT, "what was cut off goes on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    sandbox.signal_job(job, Signal(9)).unwrap();
    let JobState::Ended(end) = sandbox.wait_job(job, TEST_TIMEOUT).await.unwrap() else { panic!("it goes on") };
    assert_eq!(end.signal, Some(9));
    second.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_understood_ends() {
    let before = program().await;
    let sandbox = before.create(&Caller::Admin, SandboxConfig::default()).await.unwrap();
    let UpgradePayload { mut note, descriptors, children } = before.export(TEST_TIMEOUT).await;
    // The channel of its spawner, its agent, its first process, and the way out, which refuses everything.
    assert_eq!((descriptors.len(), children.len()), (4, 1));
    note["version"] = 99.into();
    let after = program().await;
    after.import(UpgradePayload { note, descriptors, children: children.clone() });
    assert!(after.list(&Caller::Admin).is_empty());
    assert!(after.stats().pool.adds_up());
    let spawner = format!("/proc/{}", children[0]);
    assert!(!std::path::Path::new(&spawner).exists(), "it has ended, and was asked how");
    assert_eq!(sandbox.state(), SandboxState::Lost);
    after.shutdown().await;
}
