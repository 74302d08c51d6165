//! Common forms of `.env` files, and the errors for invalid ones.

use super::*;

fn parse(text: &str) -> Vec<(String, String)> {
    parse_dotenv(text, Path::new(".env")).unwrap_or_else(|errors| panic!("{text:?}: {errors}")).into_iter().collect()
}

fn wrong(text: &str) -> Vec<String> {
    parse_dotenv(text, Path::new(".env")).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn values_are_literal() {
    for (text, value) in [
        ("A=b", "b"),
        ("A = b ", "b"),
        ("export A=b", "b"),
        ("export\tA=b", "b"),
        ("  A=b", "b"),
        ("\u{feff}A=b", "b"),
        ("A=b\r\n", "b"),
        ("A=", ""),
        ("A= ", ""),
        ("A= # nothing", ""),
        ("A=#fff", "#fff"),
        ("A=b#c", "b#c"),
        ("A=b # c", "b"),
        ("A=b\t# c", "b"),
        ("A=b c", "b c"),
        ("A=b=c", "b=c"),
        ("A=$HOME", "$HOME"),
        ("A=it's", "it's"),
        ("A=a\\nb", "a\\nb"),
        ("A='b # \"c\" \\n'", "b # \"c\" \\n"),
        ("A='' # c", ""),
        ("A=\"b # c\" # d", "b # c"),
        ("A=\"b\"#d", "b"),
        ("A=\"\"", ""),
        (r#"A="\n\r\t\\\"\'\$""#, "\n\r\t\\\"'$"),
        (r#"A="C:\dir""#, "C:\\dir"),
        ("A=\"one\ntwo\r\n  three\"", "one\ntwo\n  three"),
        ("A=ünï", "ünï"),
        ("A=1\nA=2", "2"),
    ] {
        assert_eq!(parse(text), [("A".to_owned(), value.to_owned())], "{text:?}");
    }
}

#[test]
fn comments_and_empty_lines_are_skipped() {
    assert_eq!(parse(""), []);
    let found = parse("# first\n\n  # second\nA=1\n\nexport B='2'\n_c.d-e=\"3\n4\"\nD=5");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["A", "B", "D", "_c.d-e"]);
    assert_eq!(parse("exports=1\nexport=2").len(), 2);
}

#[test]
fn errors_have_lines() {
    assert_eq!(wrong("A=1\nhello\n"), [".env:2:1: there is no = in this line: write NAME=value"]);
    assert_eq!(
        wrong("A=1\n 2B=3")[0],
        ".env:2:2: what stands before the = is not a name: write letters, digits and _, beginning with no digit"
    );
    assert_eq!(wrong("A='b\nC=d")[0], ".env:1:3: A: this ' is never closed");
    assert_eq!(wrong("X=\"a\nb\"\nA=\"b\nC=d"), [".env:3:3: A: this \" is never closed"]);
    assert!(wrong("A=\"b\" c")[0].starts_with(".env:1:6: A: there is something after the closing quote"));
    assert!(wrong("A=\"b\0\"")[0].contains("NUL"));
    assert!(wrong("=b")[0].contains("is not a name"));
    assert!(wrong("A B=c")[0].contains("is not a name"));
    assert!(!wrong("A=1\nMII/sEcReT==").concat().contains("sEcReT"), "values are not for the log");
    assert_eq!(wrong("a\nb\nC=1\nd").len(), 3, "all of them are said");
    assert!(wrong(&"A=b\n".repeat(300_000))[0].contains("may have 1mb"));
}
