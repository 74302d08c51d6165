//! The threads of a process without V8: control, and `hearth mcp`. Two are enough.

use std::io;

use hearth_sys::sched::{ChildSlice, set_short_slice};
use tokio::runtime::{Builder, Runtime};

pub fn start() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        // Agents wait for the messages that these threads carry. Child processes get default slices.
        .on_thread_start(|| set_short_slice(ChildSlice::Default))
        .enable_all()
        .build()
}
