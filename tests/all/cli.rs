//! The command line: `eval`, `--version`, and what is said when something is wrong.

use crate::folder::{Folder, says};
use crate::server::{Server, app, run};

fn evaluate(code: &str) -> String {
    let ended = run(&["eval", code]);
    assert!(ended.status.success(), "{code}: {}", ended.stderr);
    ended.stdout.trim_end().to_owned()
}

/// Ends with an error that says all of `parts`, in a few lines, and nothing on standard output.
#[track_caller]
fn assert_refused(arguments: &[&str], parts: &[&str]) {
    let ended = run(arguments);
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{arguments:?}: {}", ended.stdout);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked") && ended.stderr.lines().count() < 15, "{}", ended.stderr);
}

#[test]
fn the_version_names_v8() {
    let ended = run(&["--version"]);
    assert!(ended.status.success());
    let version = ended.stdout.trim_end();
    assert!(version.starts_with("hearth 0.") && version.contains(" (V8 14.") && version.ends_with(')'), "{version}");
}

#[test]
fn expressions_are_evaluated() {
    assert_eq!(evaluate("1 + 1"), "2");
    assert_eq!(evaluate("'text'"), "text");
    assert_eq!(evaluate("await Promise.resolve(`${[1, 2]}`)"), "1,2");
    assert_eq!(evaluate("new URL('../b', 'http://x/a/c').pathname"), "/b");
    assert_eq!(evaluate("const a = 2; return a * 3"), "6");
    assert_eq!(evaluate("await new Promise((resolve) => setTimeout(resolve, 1, 'later'))"), "later");
}

#[test]
fn what_is_logged_is_printed_as_it_is() {
    let ended = run(&["eval", "console.log('hi', { a: 1 }); console.error('beware'); 5"]);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("hi { a: 1 }\n5\n", "beware\n"));
}

#[test]
fn typescript_is_understood() {
    assert_eq!(evaluate("const n: number = 6; enum By { Seven = 7 }\nn * By.Seven"), "42");
    assert_eq!(evaluate("({ a: 1 } satisfies object).a as number"), "1");
}

#[test]
fn a_syntax_error_shows_the_line_that_was_typed() {
    for (code, parts) in [("foo(", ["eval:1:", "1 | foo("]), ("let a = 1;\nlet b = ;", ["eval:2:9: ", "2 | let b = ;"])]
    {
        assert_refused(&["eval", code], &parts);
        assert!(!run(&["eval", code]).stderr.contains("eval.js"));
    }
    let ended = run(&["eval", "null.x"]);
    assert_eq!(ended.stderr, "hearth: TypeError: Cannot read properties of null (reading 'x')\n");
}

#[test]
fn values_are_shown_as_the_console_would() {
    assert_eq!(evaluate("({ a: [1, 'x'], b: new Map([[1, 2]]) })"), "{ a: [ 1, 'x' ], b: Map(1) { 1 => 2 } }");
    assert_eq!(evaluate("undefined"), "undefined");
}

#[test]
fn an_expression_that_throws_is_an_error() {
    assert_refused(&["eval", "null.x"], &["TypeError"]);
    assert_refused(&["eval", "1 +"], &["SyntaxError"]);
    assert_refused(&["eval", "throw 'text'"], &["text"]);
}

#[test]
fn limits_hold_for_expressions() {
    assert_refused(&["eval", "for (;;);", "--cpu", "100ms"], &["CPU time limit exceeded", "--cpu"]);
    assert_refused(&["eval", "await new Promise(() => {})", "--wall", "100ms"], &["time until the response", "--wall"]);
}

#[test]
fn a_missing_file_is_named() {
    assert_refused(&["run", "/nowhere/app.ts"], &["hearth: ", "/nowhere/app.ts", "No such file"]);
}

#[test]
fn a_folder_is_no_file() {
    assert_refused(&["run", "/tmp", "--listen", "127.0.0.1:0"], &["hearth: ", "/tmp"]);
}

#[test]
fn bad_flags_are_named_with_what_they_take() {
    let file = app("warm/counter");
    let file = file.to_str().unwrap();
    for (flags, parts) in [
        (["--listen", "nowhere"], ["--listen", "nowhere"]),
        (["--cpu", "fast"], ["--cpu", "fast"]),
        (["--wall=-1s", "--dev"], ["--wall", "-1"]),
        (["--memory", "lots"], ["--memory", "lots"]),
        (["--memory", "10m"], ["--memory", "10m"]),
        (["--env", "no value"], ["--env", "KEY=VALUE"]),
        (["--env", "=x"], ["--env", "KEY=VALUE"]),
        (["--egress", "http://x/"], ["--egress", "http://x/"]),
        (["--workers", "0"], ["--workers", "0"]),
        (["--unknown", "x"], ["--unknown", "unexpected"]),
    ] {
        assert_refused(&[&["run", file][..], &flags].concat(), &parts);
    }
    assert_refused(&["run"], &["<FILE>"]);
    assert_refused(&["serve-me"], &["serve-me"]);
}

#[test]
fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let file = app("warm/counter");
    let process = format!("(process {}) listens there", std::process::id());
    let folder = Folder::new("cli-taken");
    let data = folder.path().to_str().unwrap();
    let serve = ["serve", "--data", data, "--listen", "127.0.0.1:0", "--admin", &address];
    let run_one = ["run", file.to_str().unwrap(), "--listen", &address];
    for (arguments, flag) in [(&run_one[..], "--listen"), (&serve, "--admin")] {
        let ended = run(arguments);
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        let said = ended.stderr.lines().last().unwrap();
        let expected = format!("hearth: cannot listen on {address}: ");
        assert!(said.starts_with(&expected) && said.contains(&process), "{said}");
        assert!(said.ends_with(&format!("choose another address with {flag}")), "{said}");
    }
}

#[test]
fn addresses_are_understood_or_the_error_says_how() {
    for address in ["8080", "localhost:8080", "[::1]:8080"] {
        let ended = run(&["serve", "--check", "--listen", address, "--admin", address]);
        assert!(ended.status.success(), "{address}: {}", ended.stderr);
    }
    for (address, part) in [(":8080", "0.0.0.0:8080"), ("::1:8080", "write [::1]:8080"), ("127.0.0.1", "no port")] {
        for flag in ["--listen", "--admin", "--mcp"] {
            assert_refused(&["serve", "--check", flag, address], &[flag, part]);
        }
    }
}

#[test]
fn folders_that_the_configuration_names_are_looked_for() {
    let folder = Folder::with("cli-images", &[("data/.keep", "")]);
    let file = folder.of("hearth.yaml");
    for (image, status) in [("data", 0), ("nowhere", 1)] {
        let path = folder.of(image);
        folder.write("hearth.yaml", format!("sandboxes:\n  images: {{ mine: {} }}\n", path.display()));
        let ended = run(&["serve", "--check", "--config", file.to_str().unwrap()]);
        assert_eq!(ended.status.code(), Some(status), "{}", ended.stderr);
        let is_named = ended.stderr.contains("sandboxes.images.mine: there is no folder ");
        assert_eq!(is_named, status == 1, "{}", ended.stderr);
    }
}

#[test]
fn nothing_is_said_twice() {
    for arguments in [&["serve", "--data", "/proc/nothing", "--admin", "off"][..], &["init", "/tmp/Bad Name!"]] {
        let ended = run(arguments);
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        let said = ended.stderr.lines().last().unwrap();
        let parts: Vec<&str> = said.split(": ").collect();
        let distinct: std::collections::HashSet<&&str> = parts.iter().collect();
        assert_eq!(parts.len(), distinct.len(), "{said}");
    }
}

#[test]
fn commands_of_other_tools_are_understood_or_the_error_says_how() {
    assert_eq!(run(&["version"]).stdout, run(&["--version"]).stdout);
    for (command, part) in [("login", "HEARTH_ADMIN_TOKEN"), ("start", "hearth serve DIR"), ("new", "hearth init")] {
        assert_refused(&[command], &[&format!("there is no command `{command}`"), part]);
        assert_eq!(run(&[command]).status.code(), Some(2));
    }
    // They ask a server, which is not there.
    for command in ["status", "ls", "ps"] {
        assert_eq!(run(&[command, "--admin", "127.0.0.1:1"]).status.code(), Some(3), "{command}");
    }
}

#[test]
fn flags_stand_under_what_they_are_about() {
    let help = run(&["serve", "--help"]).stdout;
    let section = |heading: &str| {
        let (_, rest) = help.split_once(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("no {heading} in {help}"));
        rest.lines().take_while(|line| line.is_empty() || line.starts_with(' ')).collect::<Vec<_>>().join("\n")
    };
    let (general, sandboxes) = (section("Options"), section("Sandboxes"));
    assert!(general.contains("--data") && general.contains("--domain"), "{general}");
    assert!(sandboxes.contains("--pool-min-size") && !sandboxes.contains("--data"), "{sandboxes}");
    assert!(!sandboxes.contains("--threads") && !sandboxes.contains("--cpu "), "{sandboxes}");
}

#[test]
fn a_folder_that_is_an_app_is_told_from_a_folder_of_apps() {
    let folder = Folder::with("cli-places", &[("shop/index.js", &says("from the folder")), ("none/.keep", "")]);
    let (shop, none) = (folder.of("shop"), folder.of("none"));
    let shop = shop.to_str().unwrap();
    let ended = run(&["serve", shop, "--admin", "off"]);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("(index.js is in it)"), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("hearth dev {shop}")), "{}", ended.stderr);
    let server = Server::start(&["serve", none.to_str().unwrap()], &[]);
    assert!(server.log().contains("holds no app yet"), "{}", server.log());
    let server = Server::start(&["serve"], &[]);
    assert!(server.log().contains("No folder of apps was named"), "{}", server.log());
    // One app can be named by its folder.
    let mut server = Server::start(&["run", shop], &[]);
    server.expect("/", "from the folder");
    server.interrupt();
    let (status, log) = server.wait();
    assert!(status.success() && log.contains("served=1") && !log.contains("Summary {"), "{log}");
}

#[test]
fn without_arguments_it_says_what_it_can_do() {
    let ended = run(&[]);
    assert!(!ended.status.success());
    assert!(ended.stderr.contains("run") && ended.stderr.contains("eval"), "{}", ended.stderr);
}
