//! A file of code through the loader, as any of the kinds that it knows. The input's first byte picks the name of the file
//! (`0` to `7` in the order of [`NAMES`]), the rest is its text.
//!
//! - The loader answers with code or with a syntax error, never with a panic (not even one that it catches).
//! - What it gives out as JavaScript can be parsed as such.
//! - Plain JavaScript passes as it is: but for `process.env.NODE_ENV`, byte by byte.
//! - Positions lie in the source: those of the map, and that of an error, whose caret is under the line it shows.
//! - The same file gives the same code again.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hearth_apps::AppModules;
use hearth_core::module::{ImportType, ModuleCode, ModuleError, ModuleId, ModuleLoader, ModuleSource, SourceMap};
use tempfile::TempDir;

const NAMES: [&str; 8] = ["a.js", "a.jsx", "a.ts", "a.tsx", "a.mts", "a.cts", "a.cjs", "old/a.tsx"];
const CONFIG: &str = r#"{"compilerOptions": {"experimentalDecorators": true, "emitDecoratorMetadata": true,
    "useDefineForClassFields": false, "jsx": "react", "jsxFactory": "h"}}"#;

/// Longer sources find nothing that shorter ones do not.
const MAX_LENGTH: usize = 600;
/// oxc reads some nested TypeScript twice at each of these, which takes twice as long with each level.
const MAX_DOUBTFUL: usize = 16;

thread_local! {
    static FOLDER: TempDir = folder();
}

pub fn check(data: &[u8]) {
    let Some((&first, source)) = data.split_first() else { return };
    let doubtful = source.iter().filter(|b| matches!(b, b'(' | b'<' | b'?' | b'[' | b'{')).count();
    if source.len() <= MAX_LENGTH && doubtful <= MAX_DOUBTFUL {
        FOLDER.with(|folder| load(folder.path(), NAMES[usize::from(first) % NAMES.len()], source));
    }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::create_dir(folder.path().join("old")).expect("a folder can be made");
    write(folder.path(), "old/tsconfig.json", CONFIG.as_bytes());
    folder
}

fn write(folder: &Path, name: &str, content: &[u8]) {
    // A new file: one that is cut and written again goes to the disk at once on some file systems, which takes long.
    let file = folder.join(name);
    let _ = fs::remove_file(&file);
    fs::write(file, content).expect("a file can be written");
}

fn load(folder: &Path, name: &str, source: &[u8]) {
    write(folder, name, source);
    let source = String::from_utf8_lossy(source);
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let id = ModuleId::new(format!("/{name}"));
    let answer = compile(folder, &id);
    match (&answer, compile(folder, &id)) {
        (Ok(module), Ok(again)) => assert_eq!(text(module), text(&again), "not the same twice"),
        (Err(error), Err(again)) => assert_eq!(*error, again, "not the same twice"),
        (answer, again) => panic!("{answer:?}, then {again:?}"),
    }
    match answer {
        Ok(module) => compiled(folder, source, &module),
        Err(ModuleError::Syntax { id: named, message }) => {
            assert_eq!(named, id.as_str());
            refused(source, &message, &named);
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fn compile(folder: &Path, id: &ModuleId) -> Result<Arc<ModuleSource>, ModuleError> {
    let modules = AppModules::open(folder, Path::new(&id.as_str()[1..]))?;
    assert_eq!(modules.entry(), *id);
    let module = modules.load(id, ImportType::Default);
    if let (Ok(module), Ok(again)) = (&module, modules.load(id, ImportType::Default)) {
        assert!(Arc::ptr_eq(module, &again), "loaded twice");
    }
    module
}

fn text(module: &ModuleSource) -> &str {
    match &module.code {
        ModuleCode::Module(text) | ModuleCode::Script(text) => text,
        ModuleCode::CommonJs { body, .. } => body,
        other => panic!("code is taken for {other:?}"),
    }
}

fn compiled(folder: &Path, source: &str, module: &ModuleSource) {
    let code = text(module);
    match &module.source_map {
        Some(map) => mapped(source, code, &**map, module.id.as_str()),
        None => plain(source, code, &module.code),
    }
    if let ModuleCode::CommonJs { exports, .. } = &module.code {
        assert!(exports.iter().enumerate().all(|(at, name)| !exports[..at].contains(name)), "{exports:?}");
    }
    let again = if let ModuleCode::Module(_) = module.code { "again.mjs" } else { "again.cjs" };
    write(folder, again, code.as_bytes());
    if let Err(error) = compile(folder, &ModuleId::new(format!("/{again}"))) {
        panic!("{} became code that is none: {error}\n{source}\n=>\n{code}", module.id);
    }
}

/// JavaScript that was not transpiled.
fn plain(source: &str, code: &str, kind: &ModuleCode) {
    let hashbang = matches!(kind, ModuleCode::CommonJs { .. }) && source.starts_with("#!");
    let source = if hashbang { format!("//{}", &source[2..]) } else { source.to_owned() };
    if !source.contains("NODE_ENV") {
        assert_eq!(code, source);
    }
    assert_eq!(lines(code).len(), lines(&source).len(), "lines moved:\n{source}\n=>\n{code}");
}

fn mapped(source: &str, code: &str, map: &dyn SourceMap, id: &str) {
    let widths: Vec<usize> = lines(source).into_iter().map(|line| line.encode_utf16().count()).collect();
    for (line, text) in lines(code).into_iter().enumerate() {
        for column in 0..=text.encode_utf16().count() {
            let Some((file, to, at)) = map.original(line as u32, column as u32) else { continue };
            assert_eq!(file, id);
            let width = widths.get(to as usize).copied();
            assert!(width.is_some_and(|width| at as usize <= width), "{line}:{column} is from {to}:{at}, outside");
        }
    }
}

/// As V8 counts them.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r', '\u{2028}', '\u{2029}']) {
        lines.push(&rest[..end]);
        let line_break =
            if rest[end..].starts_with("\r\n") { 2 } else { rest[end..].chars().next().map_or(1, char::len_utf8) };
        rest = &rest[end + line_break..];
    }
    lines.push(rest);
    lines
}

/// `/a.ts:2:5: what`, the line, and the caret.
fn refused(source: &str, message: &str, id: &str) {
    for ours in ["the parser failed", "not parsed within", "too large"] {
        assert!(!message.contains(ours), "{message}");
    }
    let place = message.strip_prefix(id).and_then(|rest| rest.strip_prefix(':'));
    let place = place.unwrap_or_else(|| panic!("does not begin with the file: {message}"));
    let mut numbers = place.splitn(3, ':').map_while(|number| number.parse::<usize>().ok());
    let (Some(line), Some(column)) = (numbers.next(), numbers.next()) else { return };
    let text = *lines(source).get(line - 1).unwrap_or_else(|| panic!("no line {line}: {message}"));
    assert!((1..=text.chars().count() + 1).contains(&column), "no column {column}: {message}");
    let mut shown = message.rsplit('\n');
    let (Some(caret), Some(shown)) = (shown.next(), shown.next()) else { panic!("no frame: {message}") };
    assert!(caret.ends_with('^') && caret.chars().count() <= shown.chars().count() + 1, "the caret is off:\n{message}");
}
