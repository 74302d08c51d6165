//! Interpreters that wait for a program. Each runs one, and what becomes of it is of no matter to the next.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use hearth_sandbox::{Code, ErrorCode, ExecCommand, ExecRequest, Language, PoolConfig, Sandbox, SandboxPool};

use crate::{driver, file, out, pool_config, sandbox, sh};

const OWN_NUMBER: [(Language, &str); 2] =
    [(Language::Python, "import os; print(os.getpid())"), (Language::JavaScript, "console.log(process.pid)")];

/// A sandbox in which interpreters wait.
async fn warm() -> (SandboxPool, Sandbox) {
    let pool = SandboxPool::new(PoolConfig { min_size: 1, ..pool_config(driver()) });
    pool.start().await.unwrap();
    pool.ready(1).await.unwrap();
    let sandbox = sandbox(&pool).await;
    assert_eq!(pool.stats().warm_hits, 1);
    (pool, sandbox)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_program_has_a_process_of_its_own() {
    let (pool, sandbox) = warm().await;
    for (language, code) in OWN_NUMBER {
        let mut numbers = HashSet::new();
        for _ in 0..3 {
            let (one, other) = tokio::join!(sandbox.execute(language, code), sandbox.execute(language, code));
            for result in [one.unwrap(), other.unwrap()] {
                assert_eq!(result.exit_code, Some(0), "{language}: {result:?}");
                assert!(numbers.insert(out(&result)), "{language}: {result:?} again");
            }
        }
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_killed_is_replaced() {
    let (pool, sandbox) = warm().await;
    // Until there is nothing but the agent, which then knows of it, and the shell itself.
    let line = "while :; do
        alone=yes
        for process in /proc/[0-9]*; do case $process in /proc/1 | /proc/$$) ;; *) alone=no ;; esac; done
        [ $alone = yes ] && break
        kill -9 -1
    done; echo alone";
    for _ in 0..2 {
        assert_eq!(out(&sh(&sandbox, line).await), "alone\n");
        for (language, code) in OWN_NUMBER {
            let result = sandbox.execute(language, code).await.unwrap();
            assert_eq!(result.exit_code, Some(0), "{language}: {result:?}");
        }
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_program_does_not_keep_the_next_from_running() {
    let (pool, sandbox) = warm().await;
    let waits = [
        (Language::Python, "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"),
        (Language::JavaScript, "setInterval(() => { if (require('fs').existsSync('go')) process.exit(0) }, 10)"),
    ];
    let mut jobs = Vec::new();
    for (language, code) in waits {
        jobs.push(sandbox.start_job(ExecRequest::code(language, code)).await.unwrap());
        // A spare is there again after a while; one is started for this if it is not.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for (language, code) in OWN_NUMBER {
        assert_eq!(sandbox.execute(language, code).await.unwrap().exit_code, Some(0), "{language}");
    }
    sh(&sandbox, "touch go").await;
    for job in jobs {
        let state = sandbox.wait_job(job, crate::TEST_TIMEOUT).await.unwrap();
        assert!(matches!(state, hearth_sandbox::JobState::Ended(end) if end.exit_code == Some(0)), "{state:?}");
    }
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_and_sessions_find_themselves_where_they_were_asked_to_be() {
    let (pool, sandbox) = warm().await;
    sandbox.write_file(file("/work/own.py", "here = 'own'")).await.unwrap();
    let code = "import os, sys, own\nprint(own.here, os.getcwd(), [path for path in sys.path if 'hearth' in path])";
    assert_eq!(out(&sandbox.execute(Language::Python, code).await.unwrap()), "own /work []\n");
    let code = Code {
        language: Language::Python,
        source: Bytes::from_static(b"import os, own\nprint(own.here, os.getcwd(), 'HEARTH_EXEC' in os.environ)"),
        session: Some("one".to_owned()),
    };
    let result = sandbox.exec(ExecRequest::new(ExecCommand::Code(code))).await.unwrap();
    assert_eq!(out(&result), "own /work True\n", "{result:?}");
    for (language, code) in OWN_NUMBER {
        for cwd in ["/nowhere", "/bin/sh"] {
            let request = ExecRequest { cwd: Some(cwd.to_owned()), ..ExecRequest::code(language, code) };
            let error = sandbox.exec(request).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument, "{language} {cwd}: {error}");
        }
    }
    drop(sandbox);
    pool.shutdown().await;
}
