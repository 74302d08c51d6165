//! Kernel features that isolate Hearth's processes, and all `unsafe` code that they take: system calls without a wrapper in
//! the standard library, the jails of cells and sandboxes, and what a crashing process records.
//!
//! | file | what it holds |
//! |---|---|
//! | `breadcrumbs.rs` | a shared page that says what each thread is running, and outlives a crash |
//! | `crash_handler.rs` | the handler of fatal signals: marks the crashed thread in the page and alarms the supervisor |
//! | `socket_activation.rs` | listening sockets that a service manager passed on (`LISTEN_FDS`) |
//! | `privileges.rs` | gives up capabilities and new privileges |
//! | `landlock.rs` | Landlock rulesets: reachable files, ports and processes |
//! | `seccomp/` | seccomp filters: allowed system calls |
//! | `memory.rs` | memory of the machine and limits of the own control groups |
//! | `procfs.rs` | `/proc/PID/stat` of processes and threads |
//! | `sched.rs` | scheduling attributes: EEVDF slices, nice values, batch policy |
//! | `sched_tick.rs` | per-core threads that force a reschedule while the machine is busy |
//! | `rlimit.rs` | resource limits of a process |
//! | `fds.rs` | closes inherited file descriptors |
//! | `reseed.rs` | reseeds the kernel's random number generator after a snapshot was restored |
//! | `escape_probe.rs` | tries what a jailed process must not be able to do |
//! | `sandbox/` | sandboxes made of namespaces |
//! | `vsock.rs` | sockets between a virtual machine and its host |
//! | `kernel_features.rs` | which of these features the running kernel has |

pub mod breadcrumbs;
pub mod crash_handler;
pub mod escape_probe;
pub mod fds;
pub mod kernel_features;
pub mod landlock;
pub mod memory;
pub mod privileges;
pub mod procfs;
pub mod reseed;
pub mod rlimit;
pub mod sandbox;
pub mod sched;
pub mod sched_tick;
pub mod seccomp;
pub mod socket_activation;
pub mod vsock;
