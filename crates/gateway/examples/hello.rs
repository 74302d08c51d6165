//! The least a request can cost: `Hello, World!` from a handler that is ready at once.
//! `cargo run --release -p hearth-gateway --example hello [ADDRESS] [THREADS]`

use std::future::Ready;
use std::net::TcpListener;
use std::sync::Arc;

use bytes::Bytes;
use hearth_core::{Body, Dispatch, DispatchResult, Headers, MaybeReady, Request, Response};
use hearth_gateway::{Config, Listener, Server};

struct Hello;

impl Dispatch for Hello {
    fn dispatch(&self, _: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        let body = Body::Full(Bytes::from_static(b"Hello, World!"));
        MaybeReady::<_, Ready<_>>::Ready(Ok(Response::new(200, Headers::TEXT, body)))
    }
}

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let threads = args.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?.block_on(async {
        let listener = Listener::plain(TcpListener::bind(&address)?)?;
        // On a task of its own, as in the real server, so that the accept loop runs on a worker.
        let server = Server::new(Config::default(), Arc::new(Hello));
        let summary = server.serve(vec![listener], std::future::pending::<()>()).await;
        println!("{summary:?}");
        Ok(())
    })
}
