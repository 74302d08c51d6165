//! What the operator wants, as it counts now, and how it is read again while the server runs.
//!
//! | what changed | what it takes |
//! |---|---|
//! | `apps`, `defaults`, `ceilings`, `egress`, `max_body_size` | the catalogue is made anew |
//! | certificates | the cells are told; connections stay |
//! | whatever else a cell is started with | cells are replaced, which loses no request |
//! | [`AT_START`] | a restart: it is said, and nothing else of it happens |

use std::path::PathBuf;

use hearth_config::OperatorConfig;
use hearth_gateway::{Certificates, PemFile, PemPair, TlsError};
use hearth_ipc::{CellPlan, CertificatePlan};

/// Keys that are read at the start only: what hangs on them is open by now.
pub const AT_START: &[&str] = &["listen", "listen_tls", "admin", "data", "log_format", "mcp", "sandboxes"];

/// `hearth.yaml`, flags and files, and what they come to.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub operator: OperatorConfig,
    /// Its listeners are those that are open, whatever the file says.
    pub plan: CellPlan,
    /// `hearth.yaml` as it was read; empty where there is none.
    pub text: String,
}

/// Reads all of it again. May block.
pub trait ConfigurationSource: Send + Sync + 'static {
    fn read(&self) -> Result<Configuration, ConfigurationError>;
}

/// What is wrong with it, for who wrote it: each fault with its file, line and column.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigurationError(pub String);

/// Whether all certificates can be used. Asked where somebody reads the answer: a cell could only fail, again and again.
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
