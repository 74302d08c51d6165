//! `hearth`: the one program. The only reader of the environment, and the place where everything is wired together.
#![forbid(unsafe_code)]

mod admin;
mod arguments;
mod eval;
mod folder;
mod log;
mod one_app;
mod run;
mod settings;

use std::process::ExitCode;

use clap::Parser;
use hearth_runtime::Platform;

use crate::arguments::{Arguments, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let result = match arguments.command {
        Command::Run(options) => run::run(options),
        Command::Serve(options) => run::serve(options),
        Command::Eval(options) => eval::eval(options),
        Command::Breadcrumbs { file } => breadcrumbs(&file),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Says what each thread of a crashed process was running.
fn breadcrumbs(file: &std::path::Path) -> anyhow::Result<()> {
    for running in hearth_jail::breadcrumbs::read(file)? {
        println!("thread {} ran request {} of {}", running.thread, running.request, running.app);
    }
    Ok(())
}

/// `hearth 0.1.0 (V8 14.4.258.23)`
fn version() -> &'static str {
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    VERSION.get_or_init(|| format!("{} (V8 {})", env!("CARGO_PKG_VERSION"), Platform::v8_version()))
}
