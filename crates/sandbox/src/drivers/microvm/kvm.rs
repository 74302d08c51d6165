//! Detects hardware virtualization.

use std::fs::{self, File};

pub(super) const DEVICE: &str = "/dev/kvm";

/// Whether the kernel can run guests, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kvm(Result<(), String>);

impl Kvm {
    /// What this machine can do. The existence of `/dev/kvm` is not enough: some machines offer one
    /// to certain guests only.
    pub(super) fn here() -> Self {
        let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if !can_virtualize(&about) {
            return Self(Err("the processor offers no virtualization (no vmx or svm)".to_owned()));
        }
        match File::options().read(true).write(true).open(DEVICE) {
            Ok(_) => Self(Ok(())),
            Err(error) => Self(Err(format!("{DEVICE} cannot be used: {error}"))),
        }
    }

    pub(super) fn usable(&self) -> Result<(), &str> {
        self.0.as_ref().copied().map_err(String::as_str)
    }

    pub(super) fn is_usable(&self) -> bool {
        self.0.is_ok()
    }
}

fn can_virtualize(about: &str) -> bool {
    let flags = about.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| matches!(flag, "vmx" | "svm"))
}

/// Kernel arguments with the rate of the guest's clock, which is the host's. The kernel would
/// measure it against a timer which, emulated on a busy machine, is so far off that the kernel
/// gives up and waits for ever.
pub(super) fn clock() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let megahertz =
        about.lines().find_map(|line| line.strip_prefix("cpu MHz")?.split(':').nth(1)?.trim().parse::<f64>().ok());
    let kilohertz = megahertz.map(|megahertz| (megahertz * 1000.0) as u64);
    kilohertz.map_or_else(|| "tsc=reliable".to_owned(), |khz| format!("tsc=reliable tsc_early_khz={khz}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_asked_for_what_it_can() {
        assert!(can_virtualize("processor : 0\nflags\t\t: fpu vme svm sse\n"));
        assert!(!can_virtualize("processor : 0\nflags\t\t: fpu vme svme\nbugs : vmx\n"));
        assert!(!can_virtualize(""));
    }
}
