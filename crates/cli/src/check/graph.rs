//! Checks an app's modules: whether all that its entry imports exists and can be parsed. Modules that only `require` and
//! `import()` refer to are warnings: the app may never load them.

use std::path::{Path, PathBuf};

use hearth_apps::{AppModules, Grade};
use hearth_config::Position;
use hearth_core::module::ModuleError;

use super::finding::{Finding, Severity};

pub fn check(folder: &Path, entry: &Path) -> Vec<Finding> {
    let modules = match AppModules::open(folder, entry) {
        Ok(modules) => modules,
        Err(error) => return vec![finding(folder, entry, &error)],
    };
    let faults = modules.faults();
    faults
        .iter()
        .map(|fault| {
            let found = finding(folder, entry, &fault.error);
            match fault.grade {
                Grade::Fatal => found,
                Grade::Possible => Finding { severity: Severity::Warning, ..found },
            }
        })
        .collect()
}

fn finding(folder: &Path, entry: &Path, error: &ModuleError) -> Finding {
    match error {
        ModuleError::Syntax { id, message } => {
            let (position, what) = taken_apart(id, message);
            Finding::error(&file(folder, id), what).at(position)
        }
        ModuleError::NotFound { specifier, from, .. } | ModuleError::Outside { specifier, from, .. } => {
            let from = file(folder, from);
            if !from.is_file() {
                return Finding::error(&folder.join(entry), error.to_string());
            }
            let text = std::fs::read_to_string(&from).unwrap_or_default();
            Finding::error(&from, error.to_string()).at(written(&text, specifier))
        }
        ModuleError::Read { id, .. } | ModuleError::WrongType { id, .. } => {
            Finding::error(&file(folder, id), error.to_string())
        }
    }
}

/// The file of a module.
fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(id.trim_start_matches('/'))
}

/// Splits a syntax error's message, which begins with module, line and column and ends with a frame.
fn taken_apart(id: &str, message: &str) -> (Option<Position>, String) {
    let first = message.lines().next().unwrap_or_default();
    let Some(rest) = first.strip_prefix(id).and_then(|rest| rest.strip_prefix(':')) else {
        return (None, message.to_owned());
    };
    let mut parts = rest.splitn(3, ':');
    let mut number = || parts.next()?.parse().ok();
    match (number(), number(), parts.next()) {
        (Some(line), Some(column), Some(what)) => (Some(Position { line, column }), what.trim_start().to_owned()),
        _ => (None, rest.trim_start().to_owned()),
    }
}

/// The first position of the specifier in quotes. It may occur elsewhere too; the message names it in any case.
fn written(text: &str, specifier: &str) -> Option<Position> {
    text.lines().enumerate().find_map(|(at, line)| {
        let quoted = ['"', '\'', '`'].map(|quote| line.find(&format!("{quote}{specifier}{quote}")));
        let offset = quoted.into_iter().flatten().min()?;
        Some(Position { line: at + 1, column: line[..offset].chars().count() + 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        let message = "/src/a.ts:3:14: Expected `,` but found: `b`\n  3 | f(a b)\n    |     ^";
        let expected = (Some(Position { line: 3, column: 14 }), "Expected `,` but found: `b`".to_owned());
        assert_eq!(taken_apart("/src/a.ts", message), expected);
        assert_eq!(taken_apart("/a.ts", "/a.ts: cannot be parsed"), (None, "cannot be parsed".to_owned()));
        assert_eq!(taken_apart("/a.ts", "something else"), (None, "something else".to_owned()));
    }

    #[test]
    fn specifiers_are_found_where_they_are_written() {
        let text = "// ./a\nimport a from './b';\nö(\"./a\")";
        assert_eq!(written(text, "./a"), Some(Position { line: 3, column: 3 }));
        assert_eq!(written(text, "./c"), None);
    }
}
