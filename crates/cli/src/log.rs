//! The log: to standard error, what `RUST_LOG` says, else lifecycle and what apps print.

use tracing_subscriber::EnvFilter;

pub fn init(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    // Fails only when a log is there already, which then serves.
    let _ =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).try_init();
}
