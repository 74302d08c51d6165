//! Converts the `sandboxes` section of `hearth.yaml` to the configuration of this crate.

use hearth_config::{SandboxLimits, SandboxSettings, WarmShape};
use hearth_sandbox_agent::{Language, NoSuchLanguage};

use crate::config::{FullNetwork, ImageName, SandboxConfig};
use crate::driver::Drivers;
use crate::error::SandboxError;
use crate::pool::{LimitsPolicy, PoolConfig, Pooling};
use crate::sandboxes::SandboxesConfig;

impl SandboxesConfig {
    /// Unset fields keep their defaults. `drivers` are the operator's, in the operator's order.
    pub fn from_settings(settings: &SandboxSettings, drivers: Drivers) -> Result<Self, SandboxError> {
        let mut config = Self::new(PoolConfig::new(drivers));
        let defaults = &mut config.defaults;
        defaults.memory = settings.memory.unwrap_or(defaults.memory);
        defaults.disk = settings.disk.unwrap_or(defaults.disk);
        defaults.cpus = settings.cpus.unwrap_or(defaults.cpus);
        if let Some(max) = settings.max {
            config.max_sandboxes = max as usize;
        }
        let ceilings = &mut config.ceilings;
        // A default that is above the built-in ceiling raises it: the operator wrote it.
        let memory = settings.max_memory.unwrap_or(*ceilings.memory.end()).max(defaults.memory);
        ceilings.memory = (*ceilings.memory.start()).min(defaults.memory)..=memory;
        let disk = settings.max_disk.unwrap_or(*ceilings.disk.end()).max(defaults.disk);
        ceilings.disk = (*ceilings.disk.start()).min(defaults.disk)..=disk;
        let cpus = settings.max_cpus.unwrap_or(*ceilings.cpus.end()).max(defaults.cpus);
        ceilings.cpus = *ceilings.cpus.start()..=cpus;
        ceilings.idle_timeout = settings.idle_timeout.unwrap_or(ceilings.idle_timeout);
        ceilings.ttl = settings.ttl.unwrap_or(ceilings.ttl);
        if settings.full_network == Some(true) {
            ceilings.full_network = FullNetwork::Allowed;
        }
        config.apply_pool(settings)?;
        Ok(config)
    }

    fn apply_pool(&mut self, settings: &SandboxSettings) -> Result<(), SandboxError> {
        let (pool, wanted) = (&mut self.pool, &settings.pool);
        for (name, folder) in &settings.images {
            pool.images.insert(ImageName::new(name)?, folder.clone());
        }
        if let Some(egress) = &settings.egress {
            pool.egress = egress.clone();
        }
        if settings.limits == Some(SandboxLimits::Required) {
            pool.limits = LimitsPolicy::Required;
        }
        pool.packages.size = settings.packages.size.unwrap_or(pool.packages.size);
        if wanted.enabled == Some(false) {
            pool.pooling = Pooling::Off;
        }
        if let Some(size) = wanted.min_size {
            pool.min_size = usize::from(size);
        }
        if let Some(boots) = wanted.max_boots {
            pool.max_concurrent_boots = usize::from(boots);
        }
        pool.fill_interval = wanted.fill_interval.unwrap_or(pool.fill_interval);
        if let Some(names) = &wanted.languages {
            let languages: Result<Vec<Language>, _> = names.iter().map(|name| name.parse()).collect();
            pool.languages = languages.map_err(|error: NoSuchLanguage| {
                SandboxError::invalid("sandboxes.pool.languages", error.to_string())
            })?;
        }
        pool.warm = vec![self.defaults.clone()];
        for shape in &wanted.warm {
            let config = warm(shape, &self.defaults)?;
            self.ceilings.check(&config)?;
            pool.warm.push(config);
        }
        Ok(())
    }
}

fn warm(shape: &WarmShape, defaults: &SandboxConfig) -> Result<SandboxConfig, SandboxError> {
    let WarmShape { image, memory, disk, cpus } = shape;
    Ok(SandboxConfig {
        image: image.as_deref().map_or_else(|| Ok(defaults.image.clone()), ImageName::new)?,
        memory: memory.unwrap_or(defaults.memory),
        disk: disk.unwrap_or(defaults.disk),
        cpus: cpus.unwrap_or(defaults.cpus),
        ..defaults.clone()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use hearth_config::{PackageSettings, SandboxPoolSettings};
    use hearth_core::ByteSize;

    use super::*;
    use crate::fake::FakeDriver;

    fn configured(settings: &SandboxSettings) -> Result<SandboxesConfig, SandboxError> {
        SandboxesConfig::from_settings(settings, Drivers::new(Arc::new(FakeDriver::new()), []))
    }

    #[test]
    fn unset_fields_keep_their_defaults() {
        let config = configured(&SandboxSettings::default()).unwrap();
        assert_eq!((config.max_sandboxes, config.pool.min_size, config.pool.max_concurrent_boots), (100, 3, 2));
        assert_eq!(config.pool.warm, [SandboxConfig::default()]);
        assert_eq!(config.ceilings, crate::SandboxCeilings::default());
        assert_eq!(config.pool.packages.size, ByteSize::mb(2048));
    }

    #[test]
    fn set_fields_are_used() {
        let settings = SandboxSettings {
            max: Some(5),
            memory: Some(ByteSize::mb(16)),
            cpus: Some(32),
            disk: Some(ByteSize::mb(64 << 10)),
            limits: Some(SandboxLimits::Required),
            idle_timeout: Some(Duration::from_secs(7)),
            full_network: Some(true),
            packages: PackageSettings { size: Some(ByteSize::mb(64)), ..PackageSettings::default() },
            pool: SandboxPoolSettings {
                enabled: Some(false),
                min_size: Some(9),
                max_boots: Some(4),
                languages: Some(vec!["bash".to_owned()]),
                warm: vec![WarmShape { memory: Some(ByteSize::mb(64)), ..WarmShape::default() }],
                ..SandboxPoolSettings::default()
            },
            ..SandboxSettings::default()
        };
        let config = configured(&settings).unwrap();
        assert_eq!((config.max_sandboxes, config.pool.pooling, config.pool.min_size), (5, Pooling::Off, 9));
        assert_eq!((config.defaults.memory, config.defaults.cpus), (ByteSize::mb(16), 32));
        assert!(config.ceilings.check(&config.defaults).is_ok(), "a default can always be had");
        assert_eq!((config.defaults.disk, config.pool.limits), (ByteSize::mb(64 << 10), LimitsPolicy::Required));
        assert_eq!(config.pool.languages, [Language::Bash]);
        assert_eq!(config.pool.warm.iter().map(|shape| shape.memory.bytes() >> 20).collect::<Vec<_>>(), [16, 64]);
        assert_eq!(config.ceilings.full_network, FullNetwork::Allowed);
        assert_eq!(config.pool.packages.size, ByteSize::mb(64));
    }

    #[test]
    fn invalid_settings_are_errors() {
        let pool = SandboxPoolSettings { languages: Some(vec!["cobol".to_owned()]), ..SandboxPoolSettings::default() };
        let error = configured(&SandboxSettings { pool, ..SandboxSettings::default() }).err().unwrap();
        assert!(error.to_string().contains("cobol"), "{error}");
        let warm = vec![WarmShape { cpus: Some(900), ..WarmShape::default() }];
        let pool = SandboxPoolSettings { warm, ..SandboxPoolSettings::default() };
        assert!(configured(&SandboxSettings { pool, ..SandboxSettings::default() }).is_err());
    }
}
