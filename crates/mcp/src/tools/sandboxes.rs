//! Sandboxes: made, looked at, destroyed.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox::{NetworkPolicy, SandboxConfig, SandboxConfigBuilder, SandboxUpdate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{Call, Effect, Entry, Given};
use crate::error::ToolError;
use crate::view::SandboxView;

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "create_sandbox",
            "Create a sandbox",
            "Makes an isolated Linux environment, ready at once, without network unless asked for. Returns the sandbox_id \
             that the other tools need.",
            Effect::Adds,
            create_sandbox,
        ),
        Entry::new(
            "update_sandbox",
            "Change a sandbox",
            "Changes how long a sandbox lives and which hosts it may reach; what is left out stays as it is.",
            Effect::Sets,
            update_sandbox,
        ),
        Entry::new(
            "destroy_sandbox",
            "Destroy a sandbox",
            "Destroys a sandbox with its processes and files.",
            Effect::Removes,
            destroy_sandbox,
        ),
        Entry::new(
            "list_sandboxes",
            "List sandboxes",
            "Lists your sandboxes, the oldest first.",
            Effect::Reads,
            list_sandboxes,
        ),
        Entry::new(
            "get_sandbox",
            "Look at a sandbox",
            "Shows a sandbox's state, limits and times.",
            Effect::Reads,
            get_sandbox,
        ),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Network {
    None,
    Full,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateSandbox {
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
    network: Option<Network>,
    /// Hosts that it may reach over HTTP(S), such as pypi.org, files.pythonhosted.org (pip), registry.npmjs.org (npm); * for any.
    allowed_hosts: Option<Vec<String>>,
    /// Destroyed when unused so long; default 600000.
    #[schemars(range(min = 1000))]
    idle_timeout_ms: Option<u64>,
    /// Destroyed after this in any case; default 86400000.
    #[schemars(range(min = 1000))]
    ttl_ms: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateSandbox {
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneSandbox {
    /// From create_sandbox.
    sandbox_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SandboxList {
    sandboxes: Vec<SandboxView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Destroyed {
    sandbox_id: String,
    destroyed: bool,
}

/// What the sandboxes themselves call these arguments.
const NAMES: &[(&str, &str)] = &[
    ("memory", "memory_mib"),
    ("disk", "disk_mib"),
    ("cpus", "vcpu_count"),
    ("network", "allowed_hosts"),
    ("idle_timeout", "idle_timeout_ms"),
    ("ttl", "ttl_ms"),
];

async fn create_sandbox(call: Call, arguments: CreateSandbox) -> Result<Given<SandboxView>, ToolError> {
    let named = |error| ToolError::from(error).renamed(NAMES);
    let (sandboxes, caller) = (call.session.sandboxes(), call.session.caller());
    let config = config(sandboxes.builder(), arguments).map_err(|error| error.renamed(NAMES))?;
    let sandbox = sandboxes.create(&caller, config).await.map_err(named)?;
    Ok(SandboxView::new(&sandboxes.info(&caller, sandbox.id())?).into())
}

/// What is not said is as the operator has it.
fn config(defaults: SandboxConfigBuilder, arguments: CreateSandbox) -> Result<SandboxConfig, ToolError> {
    let CreateSandbox { memory_mib, disk_mib, vcpu_count, image, env, network, allowed_hosts, idle_timeout_ms, ttl_ms } =
        arguments;
    let network = match (network, allowed_hosts) {
        (Some(Network::Full), None) => NetworkPolicy::Full,
        (Some(Network::Full), Some(_)) => {
            return Err(ToolError::argument("allowed_hosts", "with the full network there is nothing to list"));
        }
        (_, Some(hosts)) => NetworkPolicy::allow_list(hosts)?,
        (_, None) => NetworkPolicy::None,
    };
    let mut builder = defaults.network(network);
    if let Some(memory) = memory_mib {
        // More than can be written down is more than can be had.
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

async fn update_sandbox(call: Call, arguments: UpdateSandbox) -> Result<Given<SandboxView>, ToolError> {
    let UpdateSandbox { sandbox_id, ttl_ms, idle_timeout_ms, allowed_hosts } = arguments;
    let named = |error| ToolError::from(error).renamed(NAMES);
    let network = match allowed_hosts {
        Some(hosts) if hosts.is_empty() => Some(NetworkPolicy::None),
        Some(hosts) => Some(NetworkPolicy::allow_list(hosts).map_err(named)?),
        None => None,
    };
    let (ttl, idle_timeout) = (ttl_ms.map(Duration::from_millis), idle_timeout_ms.map(Duration::from_millis));
    let update = SandboxUpdate { ttl, idle_timeout, network };
    let (sandboxes, caller) = (call.session.sandboxes(), call.session.caller());
    let info = sandboxes.update(&caller, sandbox_id.parse()?, update).await.map_err(named)?;
    Ok(SandboxView::new(&info).into())
}

async fn destroy_sandbox(call: Call, arguments: OneSandbox) -> Result<Given<Destroyed>, ToolError> {
    let id = arguments.sandbox_id.parse()?;
    call.session.sandboxes().destroy(&call.session.caller(), id).await?;
    Ok(Destroyed { sandbox_id: arguments.sandbox_id, destroyed: true }.into())
}

async fn list_sandboxes(call: Call, _: Nothing) -> Result<Given<SandboxList>, ToolError> {
    let sandboxes = call.session.sandboxes().list(&call.session.caller()).iter().map(SandboxView::new).collect();
    Ok(SandboxList { sandboxes }.into())
}

async fn get_sandbox(call: Call, arguments: OneSandbox) -> Result<Given<SandboxView>, ToolError> {
    let info = call.session.sandboxes().info(&call.session.caller(), arguments.sandbox_id.parse()?)?;
    Ok(SandboxView::new(&info).into())
}
