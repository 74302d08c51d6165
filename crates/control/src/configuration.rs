//! The operator's configuration in effect, and how a reload applies changes of it.
//!
//! | changed | effect |
//! |---|---|
//! | `apps`, `defaults`, `ceilings`, `egress`, `max_body_size` | the catalogue is assembled again |
//! | certificates | sent to the cells; connections stay |
//! | anything else in a cell's plan | cells are replaced, which loses no request |
//! | [`RESTART_KEYS`] | none before a restart; logged as a warning |

use std::path::PathBuf;

use hearth_config::OperatorConfig;
use hearth_gateway::{Certificates, PemFile, PemPair, TlsError};
use hearth_ipc::{CellPlan, CertificatePlan};

/// Keys that are read at the start only, since sockets and files that they name are open.
pub const RESTART_KEYS: &[&str] = &["listen", "listen_tls", "admin", "data", "log_format", "mcp", "sandboxes"];

/// The result of `hearth.yaml`, flags and the files that these name.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub operator: OperatorConfig,
    /// The listeners are the open ones, whatever the file says.
    pub plan: CellPlan,
    /// Text of `hearth.yaml`; empty if there is none.
    pub text: String,
}

/// Reads the configuration again. May block.
pub trait ConfigurationSource: Send + Sync + 'static {
    fn read(&self) -> Result<Configuration, ConfigurationError>;
}

/// All faults of a configuration, each with file, line and column.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigurationError(pub String);

/// Checks that all certificates can be used. Control checks, since it can report the error; a cell would fail at each start.
pub fn check_certificates(plans: &[CertificatePlan]) -> Result<(), TlsError> {
    if plans.is_empty() {
        return Ok(());
    }
    Certificates::new(&plans.iter().map(pair).collect::<Vec<_>>()).map(drop)
}

fn pair(plan: &CertificatePlan) -> PemPair {
    let file = |path: &str, text: &str| PemFile { path: PathBuf::from(path), text: text.as_bytes().to_vec() };
    PemPair { certificate: file(&plan.file, &plan.certificate), key: file(&plan.key_file, &plan.key) }
}
