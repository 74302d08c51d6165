#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;

use super::*;

fn options(config: &std::path::Path, data: &std::path::Path) -> DoctorOptions {
    DoctorOptions { config: Some(config.to_owned()), data: Some(data.to_owned()), json: false }
}

fn find<'a>(findings: &'a [DoctorFinding], check: &str) -> &'a DoctorFinding {
    findings.iter().find(|finding| finding.check == check).unwrap()
}

#[test]
fn what_keeps_a_server_from_starting_is_bad_and_says_how_to_mend_it() {
    let temp = tempfile::tempdir().unwrap();
    let (config, data) = (temp.path().join("hearth.yaml"), temp.path().join("data"));
    std::fs::write(&config, "listen: 127.0.0.1:0\nadmin: off\nlisen_tls: 1\n").unwrap();
    std::fs::write(&data, "").unwrap();
    let findings = examine(&options(&config, &data));
    let configuration = find(&findings, "configuration");
    assert_eq!(configuration.state, State::Bad);
    assert!(
        configuration.found.contains("hearth.yaml:3:1") && configuration.found.contains("lisen_tls"),
        "{findings:?}"
    );
    assert_eq!(find(&findings, "data folder").state, State::Bad);
    let needs_advice = |finding: &DoctorFinding| matches!(finding.state, State::Weak | State::Bad);
    assert!(findings.iter().all(|finding| needs_advice(finding) == finding.advice.is_some()), "{findings:?}");
}

#[test]
fn a_data_folder_that_others_can_read_is_weak() {
    let temp = tempfile::tempdir().unwrap();
    let (config, data) = (temp.path().join("hearth.yaml"), temp.path().join("data"));
    std::fs::write(&config, "listen: 127.0.0.1:0\nadmin: off\n").unwrap();
    let state = || find(&examine(&options(&config, &data)), "data folder").state;
    assert_eq!(state(), State::Good, "there is none yet");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("secret.key"), "").unwrap();
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&data.join("secret.key"), 0o644);
    mode(&data, 0o755);
    assert_eq!(state(), State::Weak);
    mode(&data, 0o700);
    assert_eq!(state(), State::Good);
}

#[test]
fn a_table_for_people_and_json_for_programs() {
    let findings = [
        DoctorFinding::good("one", "all right"),
        DoctorFinding::bad("two", "broken", "nothing works", "turn it off and on"),
    ];
    let expected = "\
CHECK  STATE  FOUND
one    good   all right
two    bad    broken

two: nothing works
  fix: turn it off and on
";
    assert_eq!(text(&findings, Style::Plain), expected);
    let json: serde_json::Value = serde_json::from_str(&json(&findings)).unwrap();
    assert_eq!((json["ok"].as_bool(), json["checks"][1]["state"].as_str()), (Some(false), Some("bad")));
}
