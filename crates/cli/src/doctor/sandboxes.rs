//! Which kinds of sandbox can run here: each driver checks its own requirements.

use std::path::Path;

use hearth_config::{OperatorConfig, SandboxDriver};

use super::finding::DoctorFinding;
use crate::sandboxes::make;

/// All drivers, by their names in the report.
const DRIVERS: &[(SandboxDriver, &str)] = &[
    (SandboxDriver::Process, "sandbox: process"),
    (SandboxDriver::Gvisor, "sandbox: gvisor"),
    (SandboxDriver::Microvm, "sandbox: microvm"),
];

pub(super) fn examine(data: &Path, operator: &OperatorConfig) -> Vec<DoctorFinding> {
    let configured = operator.sandboxes.as_ref().and_then(|settings| settings.drivers.clone());
    let wanted = configured.unwrap_or_else(|| vec![SandboxDriver::Process]);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return vec![DoctorFinding::weak("sandboxes", error.to_string(), "they could not be asked", "try again")];
        }
    };
    let ask = |(driver, check): &(SandboxDriver, &'static str)| {
        let made = make(*driver, data);
        let answer = runtime.block_on(async {
            let answer = made.probe().await;
            made.shutdown().await;
            answer
        });
        match answer {
            Ok(probe) if wanted.contains(driver) && !probe.notes.is_empty() => {
                const MEANS: &str = "sandboxes are held less well than they could be";
                let notes: Vec<_> = probe.notes.into_iter().map(|note| note.text).collect();
                DoctorFinding::weak(check, probe.summary, MEANS, notes.join("; "))
            }
            Ok(probe) => DoctorFinding::good(check, probe.summary),
            Err(missing) if wanted.contains(driver) => {
                const MEANS: &str = "such sandboxes cannot be started; apps are served all the same";
                DoctorFinding::weak(check, "cannot run here", MEANS, missing.reason)
            }
            Err(missing) => DoctorFinding::absent(check, missing.reason),
        }
    };
    DRIVERS.iter().map(ask).collect()
}
