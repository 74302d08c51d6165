//! The log: filtered by `RUST_LOG`, by default lifecycle and apps' output, written to standard error.

use std::io::Write as _;
use std::sync::Arc;

use hearth_control::LogStore;
use hearth_log::{Colours, Format, Level, LogRecord};

/// The log target of an app's console.
const CONSOLE: &str = "hearth::console";

/// Libraries whose lines do not help the operator: `h2` warns once for each connection that breaks its rules, which
/// a client can do thousands of times a second; `rmcp` tells of each client in the words of its own structs.
pub const QUIET: &str = ",rmcp=error,h2=error";
/// The default filter.
pub const DEFAULT: &str = "info,rmcp=error,h2=error";

/// Which records are logged.
pub fn filter() -> String {
    std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty()).unwrap_or_else(|| DEFAULT.to_owned())
}

/// Records go to standard error. `default` applies if `RUST_LOG` is not set.
pub fn init(default: &str) {
    let filter = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let (format, colours) = match is_terminal {
        true => (Format::Terminal, Colours::On),
        false => (Format::Text, Colours::Off),
    };
    let sink = Arc::new(move |line| {
        // The server goes on if the log cannot be written.
        let _ = std::io::stderr().lock().write_all(format.write(&line, colours).as_bytes());
    });
    hearth_log::install(filter.as_deref().unwrap_or(default), sink);
}

/// The same, but apps' output is printed unchanged: to standard output, errors and warnings to standard error.
pub fn init_for_console(default: &str) {
    let filter = std::env::var("RUST_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let sink = Arc::new(move |line: LogRecord| {
        let is_loud = line.level >= Level::Warn;
        // The app goes on if its output cannot be written.
        let _ = match (line.target == CONSOLE, is_loud) {
            (true, false) => writeln!(std::io::stdout().lock(), "{}", line.message),
            (true, true) => writeln!(std::io::stderr().lock(), "{}", line.message),
            (false, _) => write!(std::io::stderr().lock(), "{}", Format::Terminal.write(&line, Colours::Off)),
        };
    });
    hearth_log::install(filter.as_deref().unwrap_or(default), sink);
}

/// Records go to the log store, as those of the cells do.
pub fn to_journal(journal: &LogStore) {
    let journal = journal.clone();
    hearth_log::install(&filter(), Arc::new(move |line| journal.write(line)));
}
