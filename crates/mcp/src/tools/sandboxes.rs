//! Sandboxes: made, looked at, destroyed.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox::{NetworkPolicy, SandboxConfig, SandboxConfigBuilder};
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
            "Makes a sandbox: an isolated Linux environment with its own files and processes, and no network unless asked \
             for. Returns its sandbox_id, which the other tools need. It is ready at once.",
            Effect::Adds,
            create_sandbox,
        ),
        Entry::new(
            "destroy_sandbox",
            "Destroy a sandbox",
            "Destroys a sandbox with its processes and files. What runs in it ends at once.",
            Effect::Removes,
            destroy_sandbox,
        ),
        Entry::new(
            "list_sandboxes",
            "List sandboxes",
            "Lists the sandboxes of this session, the oldest first.",
            Effect::Reads,
            list_sandboxes,
        ),
        Entry::new(
            "get_sandbox",
            "Look at a sandbox",
            "Shows one sandbox: its limits, its state, when it was made and when it will be destroyed.",
            Effect::Reads,
            get_sandbox,
        ),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Network {
    /// None at all, or what `allowed_hosts` lists.
    None,
    /// The host's, where the operator allows it.
    Full,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateSandbox {
    /// Memory in MiB; 512 if left out.
    #[schemars(range(min = 32, max = 8192))]
    memory_mib: Option<u64>,
    /// Disk in MiB, for files; 2048 if left out.
    #[schemars(range(min = 16, max = 20480))]
    disk_mib: Option<u64>,
    /// CPUs; 1 if left out.
    #[schemars(range(min = 1, max = 16))]
    vcpu_count: Option<u16>,
    /// What its file system is made of, if the operator offers more than one; the host's programs if left out.
    image: Option<String>,
    /// Environment variables of everything that runs in it.
    env: Option<BTreeMap<String, String>>,
    /// "full" for the host's network, where the operator allows it; none if left out.
    network: Option<Network>,
    /// Hosts that it may connect to over HTTP and HTTPS, such as pypi.org or *.npmjs.org; * is any host.
    allowed_hosts: Option<Vec<String>>,
    /// Destroyed when unused for so many milliseconds; 600000 if left out.
    #[schemars(range(min = 1000))]
    idle_timeout_ms: Option<u64>,
    /// Destroyed after so many milliseconds in any case; 86400000 if left out.
    #[schemars(range(min = 1000))]
    ttl_ms: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneSandbox {
    /// Which sandbox, as create_sandbox returned it.
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
