//! Two scripts in one pool of warm workers: `cargo run -p hearth-embed --example pooled`.

use std::sync::Arc;

use hearth_embed::{DefaultOperations, Error, Event, IsolatePool, Limits, execute_pooled, init_pool};

const COUNTER: &str = "let n = 0; export default { fetch: () => new Response(`visitor ${++n}`) };";
const CLOCK: &str = "addEventListener('fetch', (event) => event.respondWith(new Response(typeof Date.now())));";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    init_pool(1000, Limits::default())?;
    let operations = Arc::new(DefaultOperations);
    for (worker, script) in [("counter", COUNTER), ("counter", COUNTER), ("clock", CLOCK)] {
        let outcome = execute_pooled(worker, script, operations.clone(), Event::get("http://app/")).await?;
        println!("{worker}: {}", outcome.text().await?);
    }
    let stats = IsolatePool::global()?.stats();
    println!("{} of {} workers, hit rate {:.4}", stats.cached, stats.total, stats.hit_rate);
    Ok(())
}
