use std::fs;
use std::path::Path;

use super::*;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

fn report(folder: &Path) -> CheckReport {
    CheckReport::new(&[folder.to_owned()], None)
}

/// `name:line:column: message` of each finding, below the folder.
fn found(folder: &Path) -> Vec<String> {
    let report = report(folder);
    let folder = folder.canonicalize().unwrap();
    let text = |finding: &Finding| {
        let file = finding.file.as_ref().unwrap().strip_prefix(&folder).unwrap().display().to_string();
        let place = finding.position.map_or(String::new(), |at| format!(":{}:{}", at.line, at.column));
        format!("{file}{place}: {}", finding.message)
    };
    report.findings.iter().map(text).collect()
}

#[test]
fn a_good_app_has_no_findings() {
    let temp = tempfile::tempdir().unwrap();
    write(
        temp.path(),
        &[("index.ts", "import './b';\nexport default {};"), ("b.ts", ""), ("manifest.yaml", "timeout: 5s")],
    );
    assert_eq!(found(temp.path()), Vec::<String>::new());
}

#[test]
fn everything_that_is_wrong_is_said_with_its_place() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    write(
        root,
        &[
            ("broken/index.ts", "let a = 1;\nlet b = ;\n"),
            ("config/index.js", ""),
            ("config/manifest.yaml", "timeout: 5s\ntimout: 5s\nmemory: lots\n"),
            ("config/.env", "A=1\nno value\n"),
            ("entry/manifest.yaml", "# first\nentrypoint: main.ts\n"),
            ("import/index.ts", "import a from './a';\nimport \"./gone.ts\";\n"),
            ("import/a.ts", ""),
            ("install/index.ts", "import 'hono';"),
            ("install/manifest.yaml", "autoInstall: true\n"),
            ("none/package.json", "{}"),
            ("same@1.0.0/index.js", ""),
            ("same/1.0.0/index.js", ""),
        ],
    );
    let found = found(root);
    for part in [
        "broken/index.ts:2:9: Unexpected token",
        "config/manifest.yaml:2:1: timout: unknown key: did you mean timeout?",
        "config/manifest.yaml:3:9: memory: ",
        "config/.env:2:",
        "entry/manifest.yaml:2:1: entrypoint: there is no file main.ts",
        "import/index.ts:2:8: cannot find \"./gone.ts\"",
        "install/manifest.yaml:1:1: autoInstall: needs a lock file",
        "install/index.ts: its modules were not all checked",
        "none: has no entry",
        "same/1.0.0: is same@1.0.0, as ",
    ] {
        assert!(found.iter().any(|finding| finding.starts_with(part)), "no {part:?} in {found:#?}");
    }
    assert_eq!(found.len(), 10, "{found:#?}");
}

#[test]
fn findings_are_shown_with_their_line() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path(), &[("index.js", ""), ("manifest.yaml", "timout: 5s\n")]);
    let text = report(temp.path()).text(Style::Plain);
    assert!(text.contains("manifest.yaml:1:1: timout: unknown key"), "{text}");
    assert!(text.contains("\n  1 | timout: 5s\n    | ^\n"), "{text}");
    assert!(text.ends_with("\n1 app checked: 1 error, 0 warnings\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report(temp.path()).json()).unwrap();
    assert_eq!((&json["errors"], &json["findings"][0]["line"]), (&json!(1), &json!(1)));
}

#[test]
fn what_is_no_folder_of_apps_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    assert!(found(temp.path())[0].contains("holds no app"));
    assert_eq!(report(&temp.path().join("gone")).count(Severity::Error), 1);
}

#[test]
fn the_operators_file_is_checked_too() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path(), &[("app/index.js", ""), ("hearth.yaml", "lisen: 1\n")]);
    let report = CheckReport::new(&[temp.path().join("app")], Some(&temp.path().join("hearth.yaml")));
    assert!(report.findings[0].message.contains("unknown key"), "{:?}", report.findings);
}
