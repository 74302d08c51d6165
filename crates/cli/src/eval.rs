//! `hearth eval 'expr'`: an expression in a fresh worker, for trying things out.

use std::sync::Arc;

use anyhow::{Context, bail};
use hearth_apps::function_body;
use hearth_cell::SharedServices;
use hearth_core::module::{InMemory, ModuleError};
use hearth_core::{AppName, Request};
use hearth_runtime::{Platform, THREAD_STACK, Worker};

use crate::arguments::EvalOptions;
use crate::{log, one_app};

const NOTHING_ELSE: &str = "an expression has no folder to import from; put it into a file and use `hearth run`";

pub fn eval(options: EvalOptions) -> anyhow::Result<()> {
    log::init_for_console("hearth::console=debug,warn");
    let platform = Platform::init()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(THREAD_STACK)
        .enable_all()
        .build()
        .context("cannot start the threads")?;
    let result = runtime.block_on(async move { tokio::spawn(evaluate(platform, options)).await? });
    runtime.shutdown_background();
    result
}

async fn evaluate(platform: Platform, options: EvalOptions) -> anyhow::Result<()> {
    let body = function_body("eval", &options.code).map_err(told)?;
    let text = include_str!("eval.js").replace("BODY;", &format!("{};", json_string(&body)));
    let loader = Arc::new(InMemory::new(("/eval.js", text), Vec::new(), NOTHING_ELSE));
    let settings = one_app::settings(None, &options.app, &options.env)?;
    let app = one_app::app(&SharedServices::new()?, AppName::new("eval"), loader, &settings);
    let worker = Worker::start(platform, &hearth_snapshot::snapshot(), app).await?;
    let response = worker.fetch(Request::get("http://eval/")).await?;
    let status = response.status;
    let text = response.body.collect().await?;
    let text = String::from_utf8_lossy(&text).into_owned();
    if status != 200 {
        bail!("{text}");
    }
    println!("{text}");
    Ok(())
}

/// A syntax error in the code, with its line: `eval:1:5: Unexpected token`.
fn told(error: ModuleError) -> anyhow::Error {
    match error {
        ModuleError::Syntax { message, .. } => anyhow::anyhow!("SyntaxError: {message}"),
        other => other.into(),
    }
}

/// A JavaScript string literal.
fn json_string(text: &str) -> String {
    let mut literal = String::from("\"");
    for unit in text.chars() {
        match unit {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\u{2028}' => literal.push_str("\\u2028"),
            '\u{2029}' => literal.push_str("\\u2029"),
            unit if (unit as u32) < 0x20 => literal.push_str(&format!("\\u{:04x}", unit as u32)),
            unit => literal.push(unit),
        }
    }
    literal.push('"');
    literal
}
