//! Builds the agent with a cargo of its own: it is linked statically, and optimised whatever the rest is, which no dependency
//! of a package can be asked for. Its target folder is in `OUT_DIR`, so the two builds never wait for each other's locks.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// From this folder.
const AGENT: &str = "../agent";
/// Small, and quick to start.
const PROFILE: [(&str, &str); 6] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];
/// The separator is cargo's.
const FLAGS: &str = "-C\u{1f}target-feature=+crt-static";
/// Of the build around this one: lints, coverage and the like are not for the agent.
const NOT_INHERITED: [&str; 4] = ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_BUILD_TARGET"];

fn main() -> ExitCode {
    for source in ["src", "scripts", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={AGENT}/{source}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let (cargo, target) = (variable("CARGO"), variable("TARGET"));
    // What the lock file names is usually here; only then is no network needed.
    let built = [&["--locked", "--offline"][..], &["--locked"], &[]]
        .iter()
        .any(|how| build(&cargo, &target, &out, how) && copy(&target, &out));
    if built { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn build(cargo: &str, target: &str, out: &Path, how: &[&str]) -> bool {
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--bin", "hearth-agent", "--target", target]).args(how);
    command.arg("--manifest-path").arg(Path::new(AGENT).join("Cargo.toml"));
    command.arg("--target-dir").arg(out.join("target"));
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    command.envs(PROFILE).env("CARGO_ENCODED_RUSTFLAGS", FLAGS);
    command.status().is_ok_and(|status| status.success())
}

fn copy(target: &str, out: &Path) -> bool {
    let built = out.join("target").join(target).join("release/hearth-agent");
    std::fs::copy(built, out.join("hearth-agent")).is_ok()
}
