//! Packages, with real pip and npm in sandboxes and a registry of the test's own: what two sandboxes install is fetched once.

#[path = "../registry/mod.rs"]
mod registry;

use std::time::Duration;

use hearth_sandbox::{ExecRequest, NetworkPolicy, Sandbox, SandboxConfig, SandboxPool};

use self::registry::Registry;
use crate::{driver, out, pool_config, sh};

async fn with_hosts(pool: &SandboxPool, host: &str) -> Sandbox {
    let network = NetworkPolicy::allow_list([host]).unwrap();
    pool.acquire(&SandboxConfig::builder().network(network).build().unwrap()).await.unwrap()
}

async fn installs(sandbox: &Sandbox) {
    let line = "pip install --user --no-input hearth-greeting >/tmp/pip 2>&1 || cat /tmp/pip; \
                npm install --no-fund @hearth/greeting >/tmp/npm 2>&1 || cat /tmp/npm ~/.npm/_logs/*; \
                python3 -c 'import hearth_greeting; print(hearth_greeting.hello)'; \
                node -e \"console.log(require('@hearth/greeting'))\"";
    let request = ExecRequest { timeout: Some(Duration::from_secs(300)), ..ExecRequest::shell(line) };
    let result = sandbox.exec(request).await.unwrap();
    assert_eq!(out(&result), "from the wheel\nfrom the tarball\n", "{}", String::from_utf8_lossy(&result.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_sandboxes_install_is_fetched_once() {
    let (made, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = Registry::start(made.path());
    let host = format!("registry.test:{}", registry.port);
    let pool = SandboxPool::new(registry.supplies(pool_config(driver()), kept.path()));
    let (one, other) = (with_hosts(&pool, &host).await, with_hosts(&pool, &host).await);
    installs(&one).await;
    installs(&other).await;
    assert_eq!((registry.asked(".whl"), registry.asked(".tgz")), (1, 1));
    // Nothing but packages, and nothing that says where it came from.
    let ask = |url: &str| {
        format!("python3 -c \"import urllib.request as r; print(r.urlopen('{url}').status)\" 2>&1 | tail -1")
    };
    for url in [
        "http://pypi.hearth.internal/simple/none/",
        "http://npm.hearth.internal/-/v1/search",
        "http://pypi.hearth.internal/files/%2e%2e/a",
    ] {
        assert!(out(&sh(&one, &ask(url)).await).contains("404"), "{url}");
    }
    assert_eq!(out(&sh(&one, "grep -c hearth.internal package-lock.json").await), "0\n");
    drop((one, other));
    pool.shutdown().await;
    // The next server has them, too.
    let pool = SandboxPool::new(registry.supplies(pool_config(driver()), kept.path()));
    let sandbox = with_hosts(&pool, &host).await;
    installs(&sandbox).await;
    assert_eq!((registry.asked(".whl"), registry.asked(".tgz")), (1, 1));
    // A sandbox that may not reach a registry does not get its files from the cache.
    let elsewhere = with_hosts(&pool, "elsewhere.test").await;
    assert_eq!(out(&sh(&elsewhere, "echo $PIP_INDEX_URL$npm_config_registry").await), "\n");
    let refused = out(&sh(&elsewhere, &ask("http://pypi.hearth.internal/simple/hearth-greeting/")).await);
    assert!(refused.contains("403"), "{refused}");
    drop((sandbox, elsewhere));
    pool.shutdown().await;
}
