//! Operations on sandboxes: create, update, destroy, list, get.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox::{NetworkPolicy, SandboxConfig, SandboxConfigBuilder, SandboxUpdate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SandboxService;
use crate::dto::SandboxView;
use crate::error::ToolError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum NetworkAccess {
    None,
    Full,
}

/// What `create_sandbox` takes. What is left out has the operator's default.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSandbox {
    /// Default 512.
    #[schemars(range(min = 32, max = 8192))]
    memory_mib: Option<u64>,
    /// Default 2048.
    #[schemars(range(min = 16, max = 20480))]
    disk_mib: Option<u64>,
    /// Default 1.
    #[schemars(range(min = 1, max = 16))]
    vcpu_count: Option<u16>,
    /// Its file system, where the operator offers several; default the host's programs.
    image: Option<String>,
    /// Environment variables.
    env: Option<BTreeMap<String, String>>,
    /// "full": the host's, where the operator allows it; default none.
    network: Option<NetworkAccess>,
    /// Hosts that it may reach over HTTP(S), such as pypi.org, files.pythonhosted.org (pip), registry.npmjs.org (npm); * for any.
    allowed_hosts: Option<Vec<String>>,
    /// Destroyed when unused so long; default 600000.
    #[schemars(range(min = 1000))]
    idle_timeout_ms: Option<u64>,
    /// Destroyed after this in any case; default 86400000.
    #[schemars(range(min = 1000))]
    ttl_ms: Option<u64>,
}

/// What `update_sandbox` takes. What is left out stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSandbox {
    /// From create_sandbox.
    sandbox_id: String,
    /// Destroyed after this, from now on.
    #[schemars(range(min = 1000))]
    ttl_ms: Option<u64>,
    /// Destroyed when unused so long.
    #[schemars(range(min = 1000))]
    idle_timeout_ms: Option<u64>,
    /// All hosts that it may reach from now on; [] for none.
    allowed_hosts: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SandboxList {
    pub sandboxes: Vec<SandboxView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DestroyedSandbox {
    pub sandbox_id: String,
    pub destroyed: bool,
}

/// The names of these arguments in the errors of `hearth-sandbox`, and here.
const ARGUMENT_NAMES: &[(&str, &str)] = &[
    ("memory", "memory_mib"),
    ("disk", "disk_mib"),
    ("cpus", "vcpu_count"),
    ("network", "allowed_hosts"),
    ("idle_timeout", "idle_timeout_ms"),
    ("ttl", "ttl_ms"),
];

impl SandboxService {
    pub async fn create_sandbox(&self, request: CreateSandbox) -> Result<SandboxView, ToolError> {
        let named = |error| ToolError::from(error).renamed(ARGUMENT_NAMES);
        let (sandboxes, caller) = (self.session.sandboxes(), self.session.caller());
        let config = config(sandboxes.builder(), request).map_err(|error| error.renamed(ARGUMENT_NAMES))?;
        let sandbox = sandboxes.create(&caller, config).await.map_err(named)?;
        Ok(SandboxView::new(&sandboxes.info(&caller, sandbox.id())?))
    }

    pub async fn update_sandbox(&self, request: UpdateSandbox) -> Result<SandboxView, ToolError> {
        let UpdateSandbox { sandbox_id, ttl_ms, idle_timeout_ms, allowed_hosts } = request;
        let named = |error| ToolError::from(error).renamed(ARGUMENT_NAMES);
        let network = match allowed_hosts {
            Some(hosts) if hosts.is_empty() => Some(NetworkPolicy::None),
            Some(hosts) => Some(NetworkPolicy::allow_list(hosts).map_err(named)?),
            None => None,
        };
        let (ttl, idle_timeout) = (ttl_ms.map(Duration::from_millis), idle_timeout_ms.map(Duration::from_millis));
        let update = SandboxUpdate { ttl, idle_timeout, network };
        let (sandboxes, caller) = (self.session.sandboxes(), self.session.caller());
        let info = sandboxes.update(&caller, sandbox_id.parse()?, update).await.map_err(named)?;
        Ok(SandboxView::new(&info))
    }

    pub async fn destroy_sandbox(&self, sandbox_id: String) -> Result<DestroyedSandbox, ToolError> {
        self.session.sandboxes().destroy(&self.session.caller(), sandbox_id.parse()?).await?;
        Ok(DestroyedSandbox { sandbox_id, destroyed: true })
    }

    /// The oldest first.
    pub fn list_sandboxes(&self) -> SandboxList {
        let all = self.session.sandboxes().list(&self.session.caller());
        SandboxList { sandboxes: all.iter().map(SandboxView::new).collect() }
    }

    pub fn get_sandbox(&self, sandbox_id: &str) -> Result<SandboxView, ToolError> {
        let info = self.session.sandboxes().info(&self.session.caller(), sandbox_id.parse()?)?;
        Ok(SandboxView::new(&info))
    }
}

fn config(defaults: SandboxConfigBuilder, arguments: CreateSandbox) -> Result<SandboxConfig, ToolError> {
    let CreateSandbox { memory_mib, disk_mib, vcpu_count, image, env, network, allowed_hosts, idle_timeout_ms, ttl_ms } =
        arguments;
    let network = match (network, allowed_hosts) {
        (Some(NetworkAccess::Full), None) => NetworkPolicy::Full,
        (Some(NetworkAccess::Full), Some(_)) => {
            return Err(ToolError::argument("allowed_hosts", "with the full network there is nothing to list"));
        }
        (_, Some(hosts)) => NetworkPolicy::allow_list(hosts)?,
        (_, None) => NetworkPolicy::None,
    };
    let mut builder = defaults.network(network);
    if let Some(memory) = memory_mib {
        // Saturates: a size that does not fit is above the limit, which `build` checks.
        builder = builder.memory(ByteSize(memory.saturating_mul(1024 * 1024)));
    }
    if let Some(disk) = disk_mib {
        builder = builder.disk(ByteSize(disk.saturating_mul(1024 * 1024)));
    }
    if let Some(cpus) = vcpu_count {
        builder = builder.cpus(cpus);
    }
    if let Some(image) = image {
        builder = builder.image(image);
    }
    for (name, value) in env.unwrap_or_default() {
        builder = builder.env(name, value);
    }
    if let Some(time) = idle_timeout_ms {
        builder = builder.idle_timeout(Duration::from_millis(time));
    }
    if let Some(time) = ttl_ms {
        builder = builder.ttl(Duration::from_millis(time));
    }
    Ok(builder.build()?)
}
