//! Kernels that lack a part of the jail: a filter makes the program see one. With `jail: required` the server does not start;
//! otherwise it starts and logs what is missing.

use std::ffi::c_long;
use std::os::unix::process::CommandExt;
use std::process::Command;

use hearth_jail::privileges::forbid_new_privileges;
use hearth_jail::seccomp::Filter;

use crate::client::Client;
use crate::folder::{Folder, says};
use crate::program::Program;

/// The same number on all machines.
const LANDLOCK_CREATE_RULESET: c_long = 444;
#[cfg(target_arch = "x86_64")]
const SECCOMP: c_long = 317;
#[cfg(target_arch = "aarch64")]
const SECCOMP: c_long = 277;

/// `hearth serve` on a kernel that does not have this call.
fn serve(jail: &str, lacking: c_long) -> (Folder, Program) {
    let folder = Folder::with("kernel", &[("apps/hello/index.js", &says("hello"))]);
    folder.write("hearth.yaml", format!("jail: {jail}\n"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    command.arg("serve").arg(folder.of("apps")).arg("--config").arg(folder.of("hearth.yaml"));
    command.arg("--data").arg(folder.of("data"));
    command.args(["--listen", "127.0.0.1:0", "--admin", "off", "--standby", "0"]);
    let filter = Filter::without(lacking);
    // SAFETY: demands that nothing is done which a process must not do that was one thread of several: there are some system
    // calls, and a filter that was made before.
    unsafe { command.pre_exec(move || forbid_new_privileges().and_then(|()| filter.enter())) };
    let program = Program::spawn(&format!("kernel-{jail}-{lacking}"), command);
    (folder, program)
}

#[test]
fn a_server_that_requires_the_jail_does_not_start_without_it() {
    for (lacking, name) in [(LANDLOCK_CREATE_RULESET, "Landlock"), (SECCOMP, "seccomp")] {
        let (_folder, mut program) = serve("required", lacking);
        assert_eq!(program.wait().code(), Some(1), "{}", program.log());
        let log = program.log();
        let told = ["hearth.yaml: jail: this kernel lacks", name, "`required` wants all of it", "`jail: auto`"];
        assert!(told.iter().all(|part| log.contains(part)), "{log}");
        assert!(!log.contains("Listening on"), "{log}");
    }
}

#[test]
fn a_server_that_does_not_require_it_logs_and_starts() {
    for (lacking, name) in [(LANDLOCK_CREATE_RULESET, "Landlock"), (SECCOMP, "seccomp")] {
        let (_folder, program) = serve("auto", lacking);
        let line = program.wait_log("Cells are not wholly jailed");
        assert!(line.contains(name) && line.contains("hearth doctor"), "{line}");
        let address = program.address("Listening on http://");
        assert_eq!(Client::connect(&address).get("/hello/").text(), "hello", "{}", program.log());
    }
}
