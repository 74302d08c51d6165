//! `hearth`: the one program. The only reader of the environment, and the place where everything is wired together.
#![forbid(unsafe_code)]

mod arguments;
mod bind;
mod borrowed;
mod check;
mod completions;
mod configuration;
mod dev;
mod doctor;
mod eval;
mod hints;
mod init;
mod log;
mod manifest;
mod mcp;
mod mcp_options;
mod one_app;
mod otel;
mod probe;
mod remote;
mod run;
mod sandboxes;
mod serve;
mod serve_options;
mod service;
mod settings;
mod sighup;
mod signals;
mod terminal;
mod threads;

use std::process::ExitCode;

use clap::Parser;
use hearth_runtime::Platform;

use crate::arguments::{Arguments, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What clap ends with, too.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A newer program that refuses the flags of the previous one.
            service::roll_back_upgrade(error.to_string().lines().next().unwrap_or_default());
            if let Some(hint) = hints::hint(&error) {
                eprintln!("hearth: {hint}");
                return ExitCode::from(USAGE);
            }
            error.exit()
        }
    };
    if let Command::Run(_) | Command::Serve(_) | Command::Cell | Command::Mcp(_) = arguments.command {
        raise_file_limit();
    }
    match arguments.command {
        Command::Cell => name_process("hearth-cell"),
        Command::Spawner => {
            name_process("hearth-spawner");
            hearth_sys::memory::raise_oom_score();
        }
        Command::Serve(_) => name_process("hearth"),
        _ => {}
    }
    let result = match arguments.command {
        Command::Run(options) => run::run(options),
        Command::Serve(options) => serve::serve(*options),
        Command::Cell => hearth_cell::process::run(&hearth_snapshot::snapshot()).map_err(Into::into),
        Command::JailProbe => probe::probe(),
        Command::Spawner => hearth_sandbox::drivers::process::serve_spawner().map_err(Into::into),
        Command::Eval(options) => eval::eval(options),
        Command::Breadcrumbs { file } => breadcrumbs(&file),
        Command::Dev(options) => match dev::dev(&options) {
            Ok(exit) => return exit,
            Err(error) => Err(error),
        },
        Command::DevServer(options) => dev::serve_child(*options),
        Command::Init(options) => init::init(&options),
        Command::Check(options) => return check::check(&options),
        Command::Doctor(options) => return doctor::doctor(&options),
        Command::Mcp(options) => mcp::mcp(options),
        Command::Completions(options) => completions::completions(&options),
        Command::Version => {
            println!("hearth {}", version());
            Ok(())
        }
        Command::Remote(command) => return remote::run(command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth: {}", terminal::chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Programs that are started again by `/proc/self/exe` are called `exe` in lists of processes.
fn name_process(name: &str) {
    // Without that file there is no such list either.
    let _ = std::fs::write("/proc/self/comm", name);
}

/// Each connection and each site needs a descriptor; what a shell gives by default is for programs that have few. Where it
/// cannot be raised, fewer are accepted at once.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Says what each thread of a crashed process was running.
fn breadcrumbs(file: &std::path::Path) -> anyhow::Result<()> {
    for running in hearth_crash::breadcrumbs::read(file)?.running {
        println!("thread {} ran request {} of {}@{}", running.thread, running.request, running.app, running.version);
    }
    Ok(())
}

/// `hearth 0.1.0 (V8 14.4.258.23)`
fn version() -> &'static str {
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    VERSION.get_or_init(|| format!("{} (V8 {})", env!("CARGO_PKG_VERSION"), Platform::v8_version()))
}
