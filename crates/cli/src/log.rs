//! The log: what `RUST_LOG` says, else lifecycle and what apps print, to standard error.

use std::io::Write as _;
use std::sync::Arc;

use hearth_control::LogStore;
use hearth_log::{Colours, Format, Level, LogRecord};

/// What an app's console is called in the log.
const CONSOLE: &str = "hearth::console";

/// Libraries whose lines do not help the operator: `h2` warns once for each connection that breaks its rules, which
/// a client can do thousands of times a second; `rmcp` tells of each client in the words of its own structs.
pub const QUIET: &str = ",rmcp=error,h2=error";
/// What is logged where nothing else is said.
pub const DEFAULT: &str = "info,rmcp=error,h2=error";

/// Which lines are wanted.
pub fn filter() -> String {
    std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty()).unwrap_or_else(|| DEFAULT.to_owned())
}

/// Lines go to standard error. `default` counts where `RUST_LOG` says nothing.
pub fn init(default: &str) {
    let filter = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let (format, colours) = match is_terminal {
        true => (Format::Terminal, Colours::On),
        false => (Format::Text, Colours::Off),
    };
    let sink = Arc::new(move |line| {
        // A log that cannot be written is no reason to stop serving.
        let _ = std::io::stderr().lock().write_all(format.write(&line, colours).as_bytes());
    });
    hearth_log::install(filter.as_deref().unwrap_or(default), sink);
}

/// The same, but that what an app prints is printed as it is: to standard output, errors and warnings to standard error.
pub fn init_for_console(default: &str) {
    let filter = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let sink = Arc::new(move |line: LogRecord| {
        let is_loud = line.level >= Level::Warn;
        // Output that cannot be written is no reason to stop.
        let _ = match (line.target == CONSOLE, is_loud) {
            (true, false) => writeln!(std::io::stdout().lock(), "{}", line.message),
            (true, true) => writeln!(std::io::stderr().lock(), "{}", line.message),
            (false, _) => write!(std::io::stderr().lock(), "{}", Format::Terminal.write(&line, Colours::Off)),
        };
    });
    hearth_log::install(filter.as_deref().unwrap_or(default), sink);
}

/// Lines go to the journal, where those of the cells come too.
pub fn to_journal(journal: &LogStore) {
    let journal = journal.clone();
    hearth_log::install(&filter(), Arc::new(move |line| journal.write(line)));
}
