//! Shows the server's log to the author of an app: the app's output unchanged, errors with their source line, requests in short.
//! Records about the operation of the server are left out.

use std::path::{Path, PathBuf};

use hearth_core::AppName;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::workspace::{Show, Workspace};
use crate::check::CheckReport;
use crate::terminal::{ConsoleStream, Style, Tint, escape, escape_lines, frame};

pub struct LogView {
    style: Style,
    watched: PathBuf,
    config: Option<PathBuf>,
    /// The app's name and folder, if one app is served.
    one: Option<(AppName, PathBuf)>,
    freshness: Freshness,
    /// The findings of the last check.
    findings: String,
    /// Why an app could not be loaded, as last shown: each request reports it again.
    load_failure: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Freshness {
    /// The server does not listen yet.
    Beginning,
    Fresh,
    /// Apps have changed and are checked at the next silence.
    Stale,
}

/// A line of the log.
#[derive(Debug, Deserialize)]
struct Line {
    level: String,
    target: String,
    message: String,
    app: Option<String>,
    #[serde(default)]
    fields: Map<String, Value>,
}

// === impl LogView ===

impl LogView {
    pub fn new(workspace: &Workspace) -> Self {
        let one = match &workspace.show {
            Show::One { name, folder } => Some((name.clone(), folder.clone())),
            Show::Several => None,
        };
        Self {
            style: Style::for_stream(ConsoleStream::Error),
            watched: workspace.watched.clone(),
            config: workspace.config.clone(),
            one,
            freshness: Freshness::Beginning,
            findings: String::new(),
            load_failure: None,
        }
    }

    /// Whether apps are to be checked at the next silence.
    pub fn is_stale(&self) -> bool {
        self.freshness == Freshness::Stale
    }

    pub fn log(&mut self, text: &str) {
        let Ok(line) = serde_json::from_str::<Line>(text) else {
            // A line that is no log record: output of a process that failed.
            eprintln!("{}", escape(text));
            return;
        };
        match (line.target.as_str(), line.message.as_str()) {
            ("hearth::serve", message) => {
                if let Some(address) = message.strip_prefix("Listening on ") {
                    self.begin(address);
                }
            }
            // The check shows the error with its source line.
            ("hearth::catalogue", "catalogue served") => self.change(),
            ("hearth::catalogue", _) if line.level == "error" => self.change(),
            _ => {
                if let Some(shown) = self.shown(&line) {
                    eprintln!("{shown}");
                }
            }
        }
    }

    /// `GET /hello 200 4.5ms`
    pub fn access(&self, line: &str) {
        eprintln!("{}", self.style.paint(Tint::Dim, &escape(&short(line))));
    }

    /// Checks the apps and shows the findings.
    pub fn look(&mut self) {
        let findings = self.report().findings(self.style);
        self.freshness = Freshness::Fresh;
        self.load_failure = None;
        if findings.is_empty() {
            eprintln!("{}", self.style.paint(Tint::Green, "reloaded"));
        } else if findings != self.findings {
            eprintln!("{}", findings.trim_end());
        }
        self.findings = findings;
    }

    fn report(&self) -> CheckReport {
        CheckReport::new(std::slice::from_ref(&self.watched), self.config.as_deref())
    }

    fn change(&mut self) {
        if self.freshness == Freshness::Fresh {
            self.freshness = Freshness::Stale;
        }
    }

    fn begin(&mut self, address: &str) {
        let report = self.report();
        for url in urls(address, self.one.as_ref().map(|(name, _)| name), &report.names()) {
            eprintln!("serving {}", self.style.paint(Tint::Bold, &url));
        }
        self.findings = report.findings(self.style);
        if !self.findings.is_empty() {
            eprintln!("{}", self.findings.trim_end());
        }
        self.freshness = Freshness::Fresh;
    }

    /// How a record is shown; `None` if it is left out.
    fn shown(&mut self, line: &Line) -> Option<String> {
        let app = line.app.as_deref().filter(|_| self.one.is_none());
        let before = app.map_or(String::new(), |app| self.style.paint(Tint::Blue, &format!("{}: ", escape(app))));
        if let Some(failure) = load_failure(line) {
            // The check has shown this error already.
            if !self.findings.is_empty() || self.load_failure.as_deref() == Some(failure) {
                return None;
            }
            self.load_failure = Some(failure.to_owned());
            return Some(before + &self.error(failure));
        }
        if let Some(Value::String(failure)) = line.fields.get("failure") {
            let failure = failure.strip_prefix("the app failed: ").unwrap_or(failure);
            return Some(before + &self.error(failure));
        }
        let tint = match (line.target.as_str(), line.level.as_str()) {
            (_, "error") => return Some(before + &self.error(&line.message)),
            (_, "warn") => Some(Tint::Yellow),
            ("hearth::console", _) => None,
            ("hearth_control::install", _) => Some(Tint::Dim),
            // Starts and ends of workers and cells.
            _ => return None,
        };
        let text = escape_lines(&line.message);
        Some(before + &tint.map_or(text.clone(), |tint| self.style.paint(tint, &text)))
    }

    /// The message, the source line it is about, and the stack within the app.
    fn error(&self, text: &str) -> String {
        let text = escape_lines(text);
        let (message, stack) =
            text.split_once("\n    at ").map_or((text.as_str(), ""), |(message, stack)| (message, stack));
        let mut out = self.style.paint(Tint::Red, message);
        if let Some(framed) = self.one.as_ref().and_then(|(_, folder)| self.framed(stack, folder)) {
            out.push('\n');
            out.push_str(&framed);
        }
        if !stack.is_empty() {
            out.push('\n');
            out.push_str(&self.style.paint(Tint::Dim, &format!("    at {stack}")));
        }
        out
    }

    fn framed(&self, stack: &str, folder: &Path) -> Option<String> {
        let (file, line, column) = stack.lines().find_map(place)?;
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        frame(&text, line, column, self.style)
    }
}

/// Why an app could not be loaded, from a record of a worker or of a request.
fn load_failure(line: &Line) -> Option<&str> {
    let text = |name: &str| line.fields.get(name).and_then(Value::as_str);
    match (line.target.as_str(), line.level.as_str()) {
        ("hearth::worker", "error") => text("error"),
        _ => text("failure")?.strip_prefix("the app failed to load: "),
    }
}

/// File, line and column of a stack frame in the app's own code: `deep (file:///lib.ts:2:12)`
fn place(line: &str) -> Option<(&str, usize, usize)> {
    let rest = line.split_once("file:///")?.1.trim_end_matches(')');
    let (rest, column) = rest.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let is_own = !file.split('/').any(|part| part == "node_modules" || part == "..");
    is_own.then_some((file, line.parse().ok()?, column.parse().ok()?))
}

/// The URLs to open: one app is at the root of localhost, several are at their names.
fn urls(address: &str, one: Option<&AppName>, names: &[AppName]) -> Vec<String> {
    let port = address.rsplit(':').next().unwrap_or_default();
    match one {
        Some(_) => vec![format!("http://localhost:{port}/ (also {address}/)")],
        None => names.iter().map(|name| format!("{address}/{name}/")).collect(),
    }
}

/// A line of the access log in short; other lines unchanged.
fn short(line: &str) -> String {
    let parts = || {
        let (_, rest) = line.split_once('"')?;
        let (request, rest) = rest.split_once("\" ")?;
        let (method, rest_of_request) = request.split_once(' ')?;
        let url = rest_of_request.rsplit_once(' ').map_or(rest_of_request, |(url, _)| url);
        let path = url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
        let mut numbers = rest.split(' ');
        let (status, time) = (numbers.next()?, numbers.nth(1)?);
        Some(format!("{method} {path} {status} {time}"))
    };
    parts().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn view(folder: &Path) -> LogView {
        LogView {
            style: Style::Plain,
            watched: folder.to_owned(),
            config: None,
            one: Some((AppName::new("app"), folder.to_owned())),
            freshness: Freshness::Fresh,
            findings: String::new(),
            load_failure: None,
        }
    }

    fn shown(view: &mut LogView, line: Value) -> Option<String> {
        view.shown(&serde_json::from_value(line).unwrap())
    }

    #[test]
    fn errors_are_shown_with_their_line() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("lib.ts"), "one\n  return x.b;\n").unwrap();
        let mut view = view(temp.path());
        let failure = "the app failed: TypeError: no b\n    at f (file:///node_modules/x/i.js:1:1)\n    at deep (file:///lib.ts:2:12)";
        let line = serde_json::json!({
            "level": "info", "target": "hearth_gateway::error_response", "message": "request failed", "fields": { "failure": failure },
        });
        let expected = "\
TypeError: no b
  2 |   return x.b;
    |            ^
    at f (file:///node_modules/x/i.js:1:1)
    at deep (file:///lib.ts:2:12)";
        assert_eq!(shown(&mut view, line).unwrap(), expected);
    }

    #[test]
    fn a_load_failure_is_shown_once() {
        let mut view = view(Path::new("/nowhere"));
        let worker = serde_json::json!({
            "level": "error", "target": "hearth::worker", "message": "App failed to load", "fields": { "error": "Error: no" },
        });
        let request = serde_json::json!({
            "level": "info", "target": "hearth_gateway::error_response", "message": "request failed",
            "fields": { "failure": "the app failed to load: Error: no" },
        });
        assert_eq!(shown(&mut view, worker.clone()).unwrap(), "Error: no");
        for line in [&worker, &request, &request] {
            assert_eq!(shown(&mut view, line.clone()), None);
        }
        view.load_failure = None;
        assert_eq!(shown(&mut view, request).unwrap(), "Error: no");
    }

    #[test]
    fn what_apps_print_is_printed_and_the_rest_left_out() {
        let mut view = view(Path::new("/nowhere"));
        let line = |level: &str, target: &str, message: &str| serde_json::json!({ "level": level, "target": target, "message": message, "app": "app" });
        let console = line("info", "hearth::console", "a\nb\u{1b}[2J");
        assert_eq!(shown(&mut view, console.clone()).unwrap(), "a\nb\\u{1b}[2J");
        assert_eq!(shown(&mut view, line("warn", "anything", "beware")).unwrap(), "beware");
        assert_eq!(shown(&mut view, line("info", "hearth::worker", "worker destroyed")), None);
        view.one = None;
        assert_eq!(shown(&mut view, console).unwrap(), "app: a\nb\\u{1b}[2J");
    }

    #[test]
    fn places_are_those_of_the_apps_own_code() {
        assert_eq!(place("deep (file:///src/lib.ts:2:12)"), Some(("src/lib.ts", 2, 12)));
        assert_eq!(place("file:///index.ts:2:3"), Some(("index.ts", 2, 3)));
        for line in ["f (file:///node_modules/a/b.js:1:1)", "file:///../x:1:1", "native", "file:///a", "file:///a:b:c"]
        {
            assert_eq!(place(line), None, "{line}");
        }
    }

    #[test]
    fn requests_are_shown_in_short() {
        let line = r#"2026-11-16T11:16:42.720Z 127.0.0.1 "GET http://127.0.0.1:8080/a/?b HTTP/1.1" 502 227 4.584ms answered 16 "-" "curl""#;
        assert_eq!(short(line), "GET /a/?b 502 4.584ms");
        assert_eq!(short("something else"), "something else");
    }

    #[test]
    fn urls_are_those_to_open() {
        let names = [AppName::new("a"), AppName::new("b")];
        assert_eq!(urls("http://127.0.0.1:80", None, &names), ["http://127.0.0.1:80/a/", "http://127.0.0.1:80/b/"]);
        let one = urls("http://127.0.0.1:8080", Some(&names[0]), &names[..1]);
        assert_eq!(one, ["http://localhost:8080/ (also http://127.0.0.1:8080/)"]);
    }
}
