//! The spawner of process sandboxes as a program of its own, for the tests and benches of this crate. `hearth spawner` is the
//! same in the program that people install.
#![forbid(unsafe_code)]

fn main() -> std::io::Result<()> {
    hearth_sandbox::drivers::process::serve_spawner()
}
