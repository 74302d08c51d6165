//! Which sandboxes a server keeps: environment and flags over `sandboxes:` in `hearth.yaml` over defaults, and the drivers that
//! make them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use hearth_config::{SandboxDriver, SandboxSettings};
use hearth_sandbox::drivers::gvisor::GVisor;
use hearth_sandbox::drivers::microvm::MicroVm;
use hearth_sandbox::drivers::process::{Process, SpawnerCommand};
use hearth_sandbox::{Driver, Drivers, SandboxesConfig};

use crate::borrowed::{borrowed, borrowed_switch};

/// What is kept ready.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sandboxes")]
pub struct SandboxFlags {
    /// Whether sandboxes are kept ready; without, each is started when it is asked for [default: true].
    #[arg(long, env = "HEARTH_POOL_ENABLED", value_name = "true|false")]
    pub pool_enabled: Option<bool>,
    /// Sandboxes that are kept ready [default: 3].
    #[arg(long, env = "HEARTH_POOL_MIN_SIZE", value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub pool_min_size: Option<u16>,
    /// Sandboxes that are started at once to have that many ready [default: 2].
    #[arg(long, env = "HEARTH_POOL_MAX_BOOTS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub pool_max_boots: Option<u16>,
}

pub fn config(
    options: &SandboxFlags,
    settings: Option<&SandboxSettings>,
    data: &Path,
) -> anyhow::Result<SandboxesConfig> {
    let mut settings = settings.cloned().unwrap_or_default();
    let pool = &mut settings.pool;
    pool.enabled = options.pool_enabled.or(pool.enabled);
    pool.enabled = pool.enabled.or_else(|| borrowed_switch("BOUVET_POOL_ENABLED", "--pool-enabled"));
    pool.min_size = options.pool_min_size.or(pool.min_size);
    pool.min_size = pool.min_size.or_else(|| borrowed("BOUVET_POOL_MIN_SIZE", "--pool-min-size", 0..=1000));
    pool.max_boots = options.pool_max_boots.or(pool.max_boots);
    pool.max_boots = pool.max_boots.or_else(|| borrowed("BOUVET_POOL_MAX_BOOTS", "--pool-max-boots", 1..=100));
    let wanted = settings.drivers.clone().unwrap_or_else(|| vec![SandboxDriver::Process]);
    let mut drivers = wanted.into_iter().map(|driver| make(driver, data));
    let first = drivers.next().context("hearth.yaml: `sandboxes.drivers` is empty: name one, such as process")?;
    let drivers = Drivers::new(first, drivers);
    let mut config = SandboxesConfig::from_settings(&settings, drivers).context("hearth.yaml: `sandboxes`")?;
    if settings.packages.enabled != Some(false) {
        config.pool.packages.folder = Some(data.join("packages"));
    }
    Ok(config)
}

pub fn make(driver: SandboxDriver, data: &Path) -> Arc<dyn Driver> {
    match driver {
        SandboxDriver::Process => Arc::new(Process::new(spawner()).with_disks(data.to_owned())),
        SandboxDriver::Gvisor => {
            // What `tools/drivers` made, else the machine's.
            let made = Some(data.join("drivers/gvisor/runsc")).filter(|runsc| runsc.exists());
            let folder = data.join("gvisor");
            Arc::new(made.map_or_else(|| GVisor::new(&folder), |runsc| GVisor::with(Some(runsc), &folder)))
        }
        SandboxDriver::Microvm => Arc::new(MicroVm::new(spawner(), &data.join("drivers/microvm"))),
    }
}

/// This program, as what starts sandboxes.
fn spawner() -> SpawnerCommand {
    // The file itself, whatever becomes of its name.
    SpawnerCommand { program: "/proc/self/exe".into(), arguments: vec!["spawner".into()] }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hearth_config::PackageSettings;

    use super::*;

    #[test]
    fn packages_are_kept_unless_that_is_off() {
        let kept = |packages| {
            let settings = SandboxSettings { packages, ..SandboxSettings::default() };
            config(&SandboxFlags::default(), Some(&settings), Path::new("/data")).unwrap().pool.packages.folder
        };
        assert_eq!(kept(PackageSettings::default()).unwrap(), Path::new("/data/packages"));
        assert_eq!(kept(PackageSettings { enabled: Some(false), size: None }), None);
    }
}
