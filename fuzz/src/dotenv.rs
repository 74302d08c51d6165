//! A `.env` file.
//!
//! - Names are names; values have no NUL.
//! - What was read, written in double quotes, is read as the same.
//! - The ends of lines do not matter, nor do a byte order mark, empty lines and comments around.
//! - Errors point into the file, one line each.

use std::path::Path;

use hearth_config::{ConfigErrors, parse_dotenv};

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parse = |text: &str| parse_dotenv(text, Path::new(".env"));
    let env = match parse(&text) {
        Ok(env) => env,
        Err(errors) => return points_into(&errors, &text),
    };
    let mut written = String::new();
    for (name, value) in &env {
        assert!(!name.is_empty() && name.is_ascii() && !name.contains(['=', ' ', '\n', '"', '\'']), "{name:?}");
        assert!(!value.contains('\0'));
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
        written.push_str(&format!("export {name} = \"{value}\" # as it was\n"));
    }
    assert_eq!(parse(&written).as_ref(), Ok(&env), "{written:?}");
    let around = format!("\u{feff}\n# first\n\n{}\n  # last", text.trim_start_matches('\u{feff}'));
    assert_eq!(parse(&around).as_ref(), Ok(&env), "lines around");
    if !text.contains('\r') {
        assert_eq!(parse(&text.replace('\n', "\r\n")).as_ref(), Ok(&env), "ends of lines");
    }
}

fn points_into(errors: &ConfigErrors, text: &str) {
    let lines = text.split('\n').count();
    for error in errors.iter() {
        let at = error.place.position.expect("errors have a position");
        assert!((1..=lines).contains(&at.line), "{error}: there are {lines} lines");
        assert!(!error.to_string().contains('\n'), "{error} is one line");
    }
}
