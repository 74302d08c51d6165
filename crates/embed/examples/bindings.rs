//! A script with a key-value store in `env`, a log and outgoing requests that the program
//! implements, in an isolate of its own: `cargo run -p hearth-embed --example bindings`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_embed::{
    Binding, BindingCall, Error, Event, Fetched, Limits, LogLine, Network, OperationError, OperationFuture, Operations,
    Request, Worker,
};

const SCRIPT: &str = "export default {
    async fetch(request, env) {
        const visits = (await env.STORE.get('visits') ?? 0) + 1;
        await env.STORE.put('visits', visits);
        console.log(`visit ${visits}`);
        const outside = await fetch('http://example.com/').catch((error) => error.message);
        return Response.json({ visits, outside });
    },
};";

/// Values as JSON.
#[derive(Default)]
struct Store {
    values: Mutex<HashMap<String, String>>,
}

impl Operations for Store {
    fn fetch(&self, request: Request, _: Network) -> OperationFuture<Fetched> {
        Box::pin(async move { Err(OperationError::new(format!("{} is outside", request.url))) })
    }

    fn log(&self, line: &LogLine<'_>) {
        println!("{}: {}", line.app, line.message);
    }

    fn bindings(&self) -> Vec<Binding> {
        vec![Binding::new("STORE", ["get", "put"])]
    }

    fn call(&self, call: BindingCall) -> OperationFuture<Option<String>> {
        let arguments: Result<Vec<serde_json::Value>, _> = serde_json::from_str(&call.arguments);
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match (call.method.as_str(), arguments.as_deref()) {
            ("get", Ok([key])) => Ok(values.get(&key.to_string()).cloned()),
            ("put", Ok([key, value])) => {
                values.insert(key.to_string(), value.to_string());
                Ok(None)
            }
            (method, _) => Err(OperationError::new(format!("STORE.{method} takes a key, and put a value"))),
        };
        Box::pin(async move { answer })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    hearth_embed::start()?;
    let store = Arc::new(Store::default());
    for _ in 0..2 {
        let mut worker = Worker::new_with_ops(SCRIPT, Limits::default(), store.clone()).await?;
        println!("{}", worker.exec(Event::get("http://app/")).await?.text().await?);
    }
    Ok(())
}
