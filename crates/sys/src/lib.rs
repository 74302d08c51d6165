//! System calls and system files without a wrapper in the standard library. Contains `unsafe` code.
//!
//! | file | what it holds |
//! |---|---|
//! | `fds.rs` | closes inherited file descriptors |
//! | `memory.rs` | memory of the machine and limits of the own control groups |
//! | `procfs.rs` | `/proc/PID/stat` of processes and threads |
//! | `reseed.rs` | reseeds the kernel's random number generator after a snapshot was restored |
//! | `rlimit.rs` | resource limits of a process |
//! | `sched.rs` | scheduling attributes: EEVDF slices, nice values, batch policy |
//! | `sched_tick.rs` | per-core threads that force a reschedule while the machine is busy |
//! | `socket_activation.rs` | listening sockets that a service manager passed on (`LISTEN_FDS`) |
//! | `vsock.rs` | sockets between a virtual machine and its host |

pub mod fds;
pub mod memory;
pub mod procfs;
pub mod reseed;
pub mod rlimit;
pub mod sched;
pub mod sched_tick;
pub mod socket_activation;
pub mod vsock;
