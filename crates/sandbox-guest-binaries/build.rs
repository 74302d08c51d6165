//! Builds the programs with a cargo of their own: they are linked statically, and optimised whatever the rest is, which no
//! dependency of a package can be asked for. The target folder is in `OUT_DIR`, so the two builds never wait for each other's
//! locks.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

struct Program {
    name: &'static str,
    /// From this folder.
    folder: &'static str,
    /// What it is built of, from its own folder: also the crates of ours that it uses.
    sources: &'static [&'static str],
    profile: [(&'static str, &'static str); 2],
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "hearth-agent",
        folder: "../sandbox-agent",
        sources: &["src", "scripts", "Cargo.toml", "../sys/src", "../sys/Cargo.toml"],
        // Small, and quick to start.
        profile: [("CARGO_PROFILE_RELEASE_LTO", "fat"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")],
    },
    Program {
        name: "hearth-typescript",
        folder: "../sandbox-typescript",
        sources: &["src", "Cargo.toml"],
        // Much code, of which all processors build a part.
        profile: [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")],
    },
];
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];
/// The separator is cargo's.
const FLAGS: &str = "-C\u{1f}target-feature=+crt-static";
/// Of the build around this one: lints, coverage and the like are not for the programs.
const NOT_INHERITED: [&str; 4] = ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_BUILD_TARGET"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let (cargo, target) = (variable("CARGO"), variable("TARGET"));
    for program in &PROGRAMS {
        for source in program.sources {
            println!("cargo::rerun-if-changed={}/{source}", program.folder);
        }
        // What the lock file names is usually here; only then is no network needed.
        let built = [&["--locked", "--offline"][..], &["--locked"], &[]]
            .iter()
            .any(|how| program.build(&cargo, &target, &out, how) && program.copy(&target, &out));
        if !built {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

impl Program {
    fn build(&self, cargo: &str, target: &str, out: &Path, how: &[&str]) -> bool {
        let mut command = Command::new(cargo);
        command.args(["build", "--release", "--bin", self.name, "--target", target]).args(how);
        command.arg("--manifest-path").arg(Path::new(self.folder).join("Cargo.toml"));
        command.arg("--target-dir").arg(out.join("target"));
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        command.envs(PROFILE).envs(self.profile).env("CARGO_ENCODED_RUSTFLAGS", FLAGS);
        command.status().is_ok_and(|status| status.success())
    }

    fn copy(&self, target: &str, out: &Path) -> bool {
        let built = out.join("target").join(target).join("release").join(self.name);
        std::fs::copy(built, out.join(self.name)).is_ok()
    }
}
