//! What a program inside cannot use up. Each flood is one command; the sandbox answers the next one as if nothing had been.

use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox::{About, Driver, ErrorCode, ExecRequest, Hint, Language, Sandbox, SandboxConfig};

use crate::{driver, file, out, pool, sandbox, sandbox_with_memory, sh};

async fn still_answers(sandbox: &Sandbox) {
    assert_eq!(out(&sh(sandbox, "echo fine").await), "fine\n");
}

fn for_seconds(seconds: u64, request: ExecRequest) -> ExecRequest {
    ExecRequest { timeout: Some(Duration::from_secs(seconds)), ..request }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_held_and_ended() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let bomb = for_seconds(2, ExecRequest::code(Language::Bash, "f() { f | f & }; f; sleep 1000"));
    let result = sandbox.exec(bomb).await.unwrap();
    assert!(result.timed_out, "{result:?}");
    // Whatever was left of it is killed with it, or dies for want of processes; the rest is seen by waiting.
    let line = "while [ $(ls -d /proc/[0-9]* | wc -l) -gt 20 ]; do sleep 0.05; done; echo few";
    let mut tries = 0;
    loop {
        match sandbox.exec(ExecRequest::shell(line)).await {
            Ok(few) if out(&few) == "few\n" => break,
            // No process is to be had yet.
            other => {
                tries += 1;
                assert!(tries < 600, "{other:?}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    sandbox.destroy().await;
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_limited() {
    let pool = pool().await;
    let sandbox = sandbox_with_memory(&pool, ByteSize::mb(128)).await;
    let hog = "x = []\nwhile True: x.append(bytearray(1 << 20))";
    let result = sandbox.execute(Language::Python, hog).await.unwrap();
    // Killed where a control group holds it, an error where a limit of each process does.
    assert!(result.signal == Some(9) || result.exit_code == Some(1), "{result:?}");
    assert!(!result.timed_out);
    assert_eq!(result.hints, [Hint::OutOfMemory { limit: ByteSize::mb(128) }], "{result:?}");
    still_answers(&sandbox).await;
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_an_error() {
    let pool = pool().await;
    // Four times its memory: what is written is not in that.
    let config = SandboxConfig::builder().memory(ByteSize::mb(128)).disk(ByteSize::mb(512)).build().unwrap();
    let sandbox = pool.acquire(&config).await.unwrap();
    let has_disk = driver().probe().await.unwrap().notes.iter().all(|note| note.about != About::Comfort);
    let (least, most) = if has_disk { (400 << 10, 512 << 10) } else { (0, 64 << 10) };
    let result = sh(&sandbox, "dd if=/dev/zero of=/work/big bs=1M; echo $?; ls -s /work/big | cut -d' ' -f1").await;
    let text = out(&result);
    let (status, kilobytes) = text.trim().split_once('\n').unwrap();
    assert_eq!(status, "1", "{result:?}");
    assert!((least..=most).contains(&kilobytes.parse::<u64>().unwrap()), "{result:?}");
    let limit = ByteSize(most << 10);
    let cut = sh(&sandbox, "head -c 4194304 /dev/zero > /work/more").await;
    assert_eq!(cut.hints, [Hint::DiskFull { limit }], "{cut:?}");
    let more = sandbox.write_file(file("/work/more", vec![0; 1 << 20])).await;
    assert_eq!(more.unwrap_err().code(), ErrorCode::Limit);
    sh(&sandbox, "rm -f /work/big").await;
    let files = "i=0; while : > /tmp/f$i; do i=$((i + 1)); done 2>/dev/null; rm -f /tmp/f*; echo full";
    assert_eq!(
        out(&sandbox.execute(Language::Bash, files).await.unwrap()),
        "full\n",
        "the number of files is limited, too"
    );
    still_answers(&sandbox).await;
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_are_limited() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let flood =
        "import os\nn = 0\ntry:\n  while True:\n    os.dup(0); n += 1\nexcept OSError as e: print(e.errno, n < 5000)";
    assert_eq!(out(&sandbox.execute(Language::Python, flood).await.unwrap()), "24 True\n");
    still_answers(&sandbox).await;
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_long_output_both_ends_are_kept_and_the_command_goes_on() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    for (to, flood) in [("", "yes | head -c 5000000"), (" >&2", "yes | head -c 5000000")] {
        let line = format!("{{ echo first; {flood}; echo last; }}{to}; exit 3");
        let result = sh(&sandbox, &line).await;
        assert_eq!((result.exit_code, result.truncated, result.timed_out), (Some(3), true, false), "{line}");
        let written = if to.is_empty() { &result.stdout } else { &result.stderr };
        assert_eq!(written.len(), 1 << 20, "{line}");
        assert!(written.starts_with(b"first\ny\n") && written.ends_with(b"y\nlast\n"), "{line}");
    }
    // One without an end ends at its deadline.
    let endless = sandbox.exec(for_seconds(1, ExecRequest::shell("yes & yes >&2"))).await.unwrap();
    assert!(endless.truncated && endless.timed_out, "{endless:?}");
    still_answers(&sandbox).await;
    drop(sandbox);
    pool.shutdown().await;
}
