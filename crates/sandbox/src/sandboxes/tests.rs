//! The API, with the fake driver.

mod life;
mod update;
mod work;

use hearth_core::ByteSize;
use tokio::time::sleep;

use super::*;
use crate::driver::Drivers;
use crate::exec::{Code, ExecCommand, ExecRequest};
use crate::fake::{FakeBoot, FakeDriver};
use crate::network::NetworkPolicy;
use crate::pool::Pooling;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn config(driver: &FakeDriver) -> SandboxesConfig {
    SandboxesConfig::new(PoolConfig::new(Drivers::new(Arc::new(driver.clone()), [])))
}

async fn started(config: SandboxesConfig) -> Sandboxes {
    let sandboxes = Sandboxes::new(config);
    sandboxes.start().await.unwrap();
    sandboxes
}

async fn usual() -> (Sandboxes, FakeDriver) {
    let driver = FakeDriver::new();
    let sandboxes = started(config(&driver)).await;
    sandboxes.pool().ready(3).await.unwrap();
    (sandboxes, driver)
}

fn session(name: &str) -> Caller {
    Caller::Session(SessionId::new(name))
}

async fn create(sandboxes: &Sandboxes, caller: &Caller) -> Arc<Sandbox> {
    sandboxes.create(caller, SandboxConfig::default()).await.unwrap()
}

async fn close(sandboxes: &Sandboxes, driver: &FakeDriver) {
    let stats = sandboxes.shutdown().await;
    assert!(stats.adds_up() && stats.live == 0, "{stats:?}");
    assert_eq!(driver.live(), []);
    let refused = sandboxes.create(&Caller::Admin, SandboxConfig::default()).await;
    assert_eq!(refused.err(), Some(SandboxError::ShuttingDown));
}

fn invalid(error: &SandboxError, name: &str) -> bool {
    matches!(error, SandboxError::InvalidArgument { field, .. } if *field == name)
}
