//! The threads of a process without V8: control's, and those of sandboxes without a server. Two carry all that there is.

use std::io;

use hearth_sys::sched::{ChildSlice, set_short_slice};
use tokio::runtime::{Builder, Runtime};

pub fn start() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        // Agents wait for what they carry. The processes that they start are like all others.
        .on_thread_start(|| set_short_slice(ChildSlice::Default))
        .enable_all()
        .build()
}
