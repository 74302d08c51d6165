//! `sandboxes:` in `hearth.yaml`: their number, limits and pool. Every key is optional; the
//! defaults are those of `hearth-sandbox`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_egress_policy::EgressPolicy;

use crate::fields::{Fields, Read};
use crate::value::{self, Word};
use crate::yaml::{Node, Value};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The available drivers; the first is the default.
    pub drivers: Option<Vec<SandboxDriver>>,
    /// Concurrent sandboxes of all sessions.
    pub max: Option<u32>,
    /// The default for a sandbox, and the maximum that it can request.
    pub memory: Option<ByteSize>,
    pub max_memory: Option<ByteSize>,
    /// The same for its files.
    pub disk: Option<ByteSize>,
    pub max_disk: Option<ByteSize>,
    pub cpus: Option<u16>,
    pub max_cpus: Option<u16>,
    /// Whether sandboxes are permitted whose limits do not apply to all their processes together.
    pub limits: Option<SandboxLimits>,
    /// Unused for this long, a sandbox is destroyed; also the maximum that can be requested.
    pub idle_timeout: Option<Duration>,
    /// Its maximum lifetime.
    pub ttl: Option<Duration>,
    /// Whether a sandbox may use the host's network directly.
    pub full_network: Option<bool>,
    /// The maximum that a sandbox's list of hosts can contain.
    pub egress: Option<EgressPolicy>,
    /// Folders with root file systems, by the name that requests use.
    pub images: BTreeMap<String, PathBuf>,
    pub packages: PackageSettings,
    pub pool: SandboxPoolSettings,
}

/// `packages:` below it: the cache of package files for later sandboxes. `off`, or a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackageSettings {
    pub enabled: Option<bool>,
    /// The size of the whole cache.
    pub size: Option<ByteSize>,
}

/// `pool:` below it. Flags and environment variables override these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxPoolSettings {
    pub enabled: Option<bool>,
    /// Ready sandboxes of each shape that is kept warm.
    pub min_size: Option<u16>,
    /// Concurrent boots when the pool is filled.
    pub max_boots: Option<u16>,
    pub fill_interval: Option<Duration>,
    /// Interpreters that are started in a sandbox before it is taken.
    pub languages: Option<Vec<String>>,
    /// Shapes that are kept warm beside the default.
    pub warm: Vec<WarmShape>,
}

/// Absent keys are as in the default shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarmShape {
    pub image: Option<String>,
    pub memory: Option<ByteSize>,
    pub disk: Option<ByteSize>,
    pub cpus: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxLimits {
    /// The limits that this machine can enforce are enforced.
    Available,
    /// All limits are required, otherwise there are no sandboxes.
    Required,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxDriver {
    /// Namespaces of this machine's kernel.
    Process,
    /// A user-space kernel for each, by `runsc`.
    Gvisor,
    /// A virtual machine each.
    Microvm,
}

// === impl SandboxSettings ===

impl SandboxSettings {
    /// More than any machine can run.
    const MAX_SANDBOXES: u64 = 10_000;
    const MOST_CPUS: u64 = 1024;

    pub(crate) fn read(node: &Node) -> Read<Self> {
        let mut fields = Fields::new(node)?;
        let settings = Self {
            drivers: fields.read("drivers", value::several(value::word)),
            max: fields.read("max", value::count(0..=Self::MAX_SANDBOXES)),
            memory: fields.read("memory", value::some_size),
            max_memory: fields.read("max_memory", value::some_size),
            disk: fields.read("disk", value::some_size),
            max_disk: fields.read("max_disk", value::some_size),
            limits: fields.read("limits", value::word),
            cpus: fields.read("cpus", value::count(1..=Self::MOST_CPUS)),
            max_cpus: fields.read("max_cpus", value::count(1..=Self::MOST_CPUS)),
            idle_timeout: fields.read("idle_timeout", value::some_time),
            ttl: fields.read("ttl", value::some_time),
            full_network: fields.read("full_network", value::flag),
            egress: fields.read("egress", value::egress),
            images: fields.read("images", images).unwrap_or_default(),
            packages: fields.read("packages", PackageSettings::read).unwrap_or_default(),
            pool: fields.read("pool", SandboxPoolSettings::read).unwrap_or_default(),
        };
        fields.finish()?;
        Ok(settings)
    }
}

fn images(node: &Node) -> Read<BTreeMap<String, PathBuf>> {
    let folder = |_: &_, node: &Node| value::text(node).map(PathBuf::from);
    Ok(value::map(node, "a map of images", folder)?.into_iter().collect())
}

// === impl PackageSettings ===

impl PackageSettings {
    fn read(node: &Node) -> Read<Self> {
        match &node.value {
            Value::Plain(word) | Value::Quoted(word) if word == "off" => Ok(Self { enabled: Some(false), size: None }),
            Value::Map(_) => {
                let mut fields = Fields::new(node)?;
                let settings =
                    Self { enabled: fields.read("enabled", value::flag), size: fields.read("size", value::some_size) };
                fields.finish()?;
                Ok(settings)
            }
            _ => Err(value::wrong_type(node, "off, or a map such as { size: 4gb }")),
        }
    }
}

// === impl SandboxPoolSettings ===

impl SandboxPoolSettings {
    fn read(node: &Node) -> Read<Self> {
        let mut fields = Fields::new(node)?;
        let settings = Self {
            enabled: fields.read("enabled", value::flag),
            min_size: fields.read("min_size", value::count(0..=SandboxSettings::MAX_SANDBOXES)),
            max_boots: fields.read("max_boots", value::count(1..=SandboxSettings::MAX_SANDBOXES)),
            fill_interval: fields.read("fill_interval", value::some_time),
            languages: fields.read("languages", value::several(value::text)),
            warm: fields.read("warm", value::several(WarmShape::read)).unwrap_or_default(),
        };
        fields.finish()?;
        Ok(settings)
    }
}

// === impl WarmShape ===

impl WarmShape {
    fn read(node: &Node) -> Read<Self> {
        let mut fields = Fields::new(node)?;
        let shape = Self {
            image: fields.read("image", value::text),
            memory: fields.read("memory", value::some_size),
            disk: fields.read("disk", value::some_size),
            cpus: fields.read("cpus", value::count(1..=SandboxSettings::MOST_CPUS)),
        };
        fields.finish()?;
        Ok(shape)
    }
}

// === words ===

impl Word for SandboxLimits {
    const WORDS: &'static [(&'static str, Self)] = &[("available", Self::Available), ("required", Self::Required)];
}

impl Word for SandboxDriver {
    const WORDS: &'static [(&'static str, Self)] =
        &[("process", Self::Process), ("gvisor", Self::Gvisor), ("microvm", Self::Microvm)];
}

impl SandboxDriver {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Gvisor => "gvisor",
            Self::Microvm => "microvm",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::operator::OperatorConfig;

    fn parse(text: &str) -> Result<SandboxSettings, String> {
        let config = OperatorConfig::parse(text, Path::new("hearth.yaml"));
        config.map(|config| config.sandboxes.unwrap_or_default()).map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_key_is_read() {
        let settings = parse(
            "sandboxes:\n  drivers: [process, microvm]\n  max: 50\n  memory: 256mb\n  max_memory: 4gb\n  cpus: 2\n  max_cpus: 4\n  \
             idle_timeout: 5m\n  ttl: 2h\n  full_network: true\n  egress: [public, 10.0.0.5]\n  images: { py: /srv/py }\n  \
             packages: { enabled: true, size: 4gb }\n  pool:\n    \
             enabled: false\n    min_size: 7\n    max_boots: 3\n    fill_interval: 2s\n    languages: python\n    \
             warm: [{ memory: 1gb }, { image: py, cpus: 2 }]\n",
        );
        let settings = settings.unwrap();
        assert_eq!(settings.drivers, Some(vec![SandboxDriver::Process, SandboxDriver::Microvm]));
        assert_eq!((settings.max, settings.memory, settings.cpus), (Some(50), Some(ByteSize::mb(256)), Some(2)));
        assert_eq!(settings.images["py"], Path::new("/srv/py"));
        assert_eq!(settings.packages, PackageSettings { enabled: Some(true), size: Some(ByteSize::mb(4096)) });
        assert_eq!(
            (settings.pool.enabled, settings.pool.min_size, settings.pool.max_boots),
            (Some(false), Some(7), Some(3))
        );
        assert_eq!(settings.pool.languages, Some(vec!["python".to_owned()]));
        let large = WarmShape { memory: Some(ByteSize::mb(1024)), ..WarmShape::default() };
        assert_eq!((settings.pool.warm.len(), &settings.pool.warm[0]), (2, &large));
        assert_eq!(parse("").unwrap(), SandboxSettings::default());
        let off = PackageSettings { enabled: Some(false), size: None };
        assert_eq!(parse("sandboxes: { packages: off }").unwrap().packages, off);
        assert_eq!(parse("sandboxes: { packages: { enabled: false } }").unwrap().packages, off);
    }

    #[test]
    fn errors_name_their_position() {
        for (text, part) in [
            ("sandboxes: { poll: {} }", "hearth.yaml:1:14: sandboxes.poll: unknown key: did you mean pool?"),
            (
                "sandboxes:\n  drivers: kvm",
                "sandboxes.drivers: \"kvm\" is not known here: write process, gvisor or microvm",
            ),
            ("sandboxes:\n  pool: { max_boots: 0 }", "sandboxes.pool.max_boots: 0 is out of range"),
            ("sandboxes: { memory: 0 }", "sandboxes.memory: it must be more than zero"),
            ("sandboxes: { pool: { warm: [{ disks: 1gb }] } }", "sandboxes.pool.warm[0].disks: unknown key"),
            (
                "sandboxes:\n  packages: on",
                "hearth.yaml:2:13: sandboxes.packages: expected off, or a map such as { size: 4gb }, found the text \"on\"",
            ),
            (
                "sandboxes: { limits: none }",
                "sandboxes.limits: \"none\" is not known here: write available or required",
            ),
            ("sandboxes: { packages: { size: 0 } }", "sandboxes.packages.size: it must be more than zero"),
            ("sandboxes: { packages: { size: large } }", "sandboxes.packages.size: "),
            ("sandboxes: { packages: { sise: 1gb } }", "sandboxes.packages.sise: unknown key: did you mean size?"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
