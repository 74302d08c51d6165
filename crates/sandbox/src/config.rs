//! Configuration of a sandbox. Everything that can be wrong with it is found by
//! [`SandboxConfigBuilder::build`] and [`SandboxCeilings::check`], before anything is started.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use hearth_core::ByteSize;

use crate::driver::DriverName;
use crate::error::SandboxError;
use crate::network::NetworkPolicy;

/// Made by [`SandboxConfig::builder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    pub image: ImageName,
    pub memory: ByteSize,
    /// For all files that it writes.
    pub disk: ByteSize,
    pub cpus: u16,
    /// Environment of everything that runs in it.
    pub env: BTreeMap<String, String>,
    pub network: NetworkPolicy,
    /// Idle for this long, it is destroyed. `None`: the operator's default.
    pub idle_timeout: Option<Duration>,
    /// After this long it is destroyed, used or not. `None`: the operator's default.
    pub ttl: Option<Duration>,
    /// `None`: the operator's first.
    pub driver: Option<DriverName>,
}

/// A change to a sandbox; fields that are left out stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxUpdate {
    /// Lifetime from now on.
    pub ttl: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    /// Hosts, or none. Connections under the previous policy are cut. The host's own network can
    /// neither be given nor taken.
    pub network: Option<NetworkPolicy>,
}

/// The image of a sandbox's files: `host` (the machine's own programs, read-only), or one that the
/// operator named.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageName(String);

#[derive(Clone, Debug)]
pub struct SandboxConfigBuilder {
    config: SandboxConfig,
    image: Option<String>,
}

/// Upper and lower bounds, set by the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxCeilings {
    pub memory: RangeInclusive<ByteSize>,
    pub disk: RangeInclusive<ByteSize>,
    pub cpus: RangeInclusive<u16>,
    /// The longest idle time, and the default.
    pub idle_timeout: Duration,
    /// The longest lifetime, and the default.
    pub ttl: Duration,
    pub full_network: FullNetwork,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullNetwork {
    #[default]
    Refused,
    Allowed,
}

// === impl SandboxConfig ===

impl SandboxConfig {
    /// Defaults: the host's image, 512 MB of memory, 2 GB of disk, 1 CPU, no network.
    pub fn builder() -> SandboxConfigBuilder {
        SandboxConfigBuilder::from(Self::default())
    }
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            image: ImageName::host(),
            memory: ByteSize::mb(512),
            disk: ByteSize::mb(2048),
            cpus: 1,
            env: BTreeMap::new(),
            network: NetworkPolicy::None,
            idle_timeout: None,
            ttl: None,
            driver: None,
        }
    }
}

// === impl ImageName ===

impl ImageName {
    pub fn host() -> Self {
        Self("host".to_owned())
    }

    pub fn new(name: &str) -> Result<Self, SandboxError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/".contains(&b);
        if name.is_empty() || name.len() > 128 || !name.bytes().all(plain) {
            let reason = format!("{name:?} is no name of an image: letters, digits and -_.:/ only");
            return Err(SandboxError::invalid("image", reason));
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageName({:?})", self.0)
    }
}

// === impl SandboxConfigBuilder ===

impl From<SandboxConfig> for SandboxConfigBuilder {
    fn from(config: SandboxConfig) -> Self {
        Self { config, image: None }
    }
}

impl SandboxConfigBuilder {
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    pub fn memory(mut self, memory: ByteSize) -> Self {
        self.config.memory = memory;
        self
    }

    pub fn disk(mut self, disk: ByteSize) -> Self {
        self.config.disk = disk;
        self
    }

    pub fn cpus(mut self, cpus: u16) -> Self {
        self.config.cpus = cpus;
        self
    }

    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.env.insert(name.into(), value.into());
        self
    }

    pub fn network(mut self, network: NetworkPolicy) -> Self {
        self.config.network = network;
        self
    }

    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.config.idle_timeout = Some(idle);
        self
    }

    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.config.ttl = Some(ttl);
        self
    }

    pub fn driver(mut self, driver: DriverName) -> Self {
        self.config.driver = Some(driver);
        self
    }

    /// Checks everything that does not depend on the operator's ceilings.
    pub fn build(mut self) -> Result<SandboxConfig, SandboxError> {
        if let Some(image) = &self.image {
            self.config.image = ImageName::new(image)?;
        }
        check_env(&self.config.env)?;
        for (field, time) in [("idle_timeout", self.config.idle_timeout), ("ttl", self.config.ttl)] {
            if time.is_some_and(|time| time.is_zero()) {
                return Err(SandboxError::invalid(field, "must be longer than nothing"));
            }
        }
        Ok(self.config)
    }
}

/// Refuses what the system would not take, or would take for something else.
pub(crate) fn check_env(env: &BTreeMap<String, String>) -> Result<(), SandboxError> {
    const MAX_ENV_BYTES: usize = 128 * 1024;
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(SandboxError::invalid("env", format!("{name:?} is no name of a variable")));
        }
        if value.contains('\0') {
            return Err(SandboxError::invalid("env", format!("the value of {name} has a NUL in it")));
        }
    }
    if env.iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>() > MAX_ENV_BYTES {
        return Err(SandboxError::invalid("env", "more than 128kb in all"));
    }
    Ok(())
}

// === impl SandboxCeilings ===

impl SandboxCeilings {
    /// Called before any work is done for the sandbox.
    pub fn check(&self, config: &SandboxConfig) -> Result<(), SandboxError> {
        let between = |field, value: String, least: String, most: String| {
            Err(SandboxError::invalid(field, format!("{value} is not between {least} and {most}")))
        };
        if !self.memory.contains(&config.memory) {
            let (least, most) = (self.memory.start().to_string(), self.memory.end().to_string());
            return between("memory", config.memory.to_string(), least, most);
        }
        if !self.disk.contains(&config.disk) {
            let (least, most) = (self.disk.start().to_string(), self.disk.end().to_string());
            return between("disk", config.disk.to_string(), least, most);
        }
        if !self.cpus.contains(&config.cpus) {
            let (least, most) = (self.cpus.start().to_string(), self.cpus.end().to_string());
            return between("cpus", config.cpus.to_string(), least, most);
        }
        let times = [("idle_timeout", config.idle_timeout, self.idle_timeout), ("ttl", config.ttl, self.ttl)];
        for (field, time, most) in times {
            if time.is_some_and(|time| time > most) {
                return Err(SandboxError::invalid(field, format!("longer than {most:?}, which is the longest here")));
            }
        }
        self.check_network(&config.network)
    }

    /// The same for a change to a sandbox of that age.
    pub fn check_update(&self, update: &SandboxUpdate, age: Duration) -> Result<(), SandboxError> {
        for (field, time) in [("ttl", update.ttl), ("idle_timeout", update.idle_timeout)] {
            if time.is_some_and(|time| time.is_zero()) {
                return Err(SandboxError::invalid(field, "must be longer than nothing"));
            }
        }
        let left = self.ttl.saturating_sub(age);
        if update.ttl.is_some_and(|time| time > left) {
            let reason = format!(
                "longer than {left:?}, which is what is left of the longest life here, {:?} (`sandboxes.ttl` of hearth.yaml)",
                self.ttl
            );
            return Err(SandboxError::invalid("ttl", reason));
        }
        if update.idle_timeout.is_some_and(|time| time > self.idle_timeout) {
            let reason = format!("longer than {:?}, which is the longest here", self.idle_timeout);
            return Err(SandboxError::invalid("idle_timeout", reason));
        }
        update.network.as_ref().map_or(Ok(()), |network| self.check_network(network))
    }

    fn check_network(&self, network: &NetworkPolicy) -> Result<(), SandboxError> {
        if *network == NetworkPolicy::Full && self.full_network == FullNetwork::Refused {
            return Err(SandboxError::Denied {
                what: "the full network".to_owned(),
                reason: "the operator's hearth.yaml does not say `full_network: true` below `sandboxes`".to_owned(),
            });
        }
        Ok(())
    }
}

impl Default for SandboxCeilings {
    /// 32 MB to 8 GB of memory, 16 MB to 20 GB of disk, 1 to 16 CPUs, idle 10 min, life 24 h.
    fn default() -> Self {
        Self {
            memory: ByteSize::mb(32)..=ByteSize::mb(8 * 1024),
            disk: ByteSize::mb(16)..=ByteSize::mb(20 * 1024),
            cpus: 1..=16,
            idle_timeout: Duration::from_secs(10 * 60),
            ttl: Duration::from_secs(24 * 60 * 60),
            full_network: FullNetwork::Refused,
        }
    }
}
