//! What the operating system does for Hearth's walls, and all `unsafe` that it takes.
//!
//! | file | |
//! |---|---|
//! | `breadcrumbs.rs` | a page that says what each thread is running, and outlives a crash |
//! | `last_act.rs` | what a process that crashes does last |
//! | `activation.rs` | sockets that a service manager opened for us |
//! | `privileges.rs` | capabilities and new privileges, given up |
//! | `landlock.rs` | which files, ports and other processes can be reached |
//! | `seccomp/` | which system calls can be made |
//! | `memory.rs` | how much memory there is |
//! | `process.rs` | what the kernel says about a process |
//! | `slices.rs`, `pulse.rs` | how soon a thread that wakes up gets a core |
//! | `limits.rs` | what the kernel limits for each process |
//! | `descriptors.rs` | descriptors that a process was not meant to have |
//! | `entropy.rs` | the kernel's random numbers, made different |
//! | `attempts.rs` | what a jailed process must not be able to do, tried |
//! | `sandbox/` | sandboxes made of namespaces |
//! | `vsock.rs` | sockets between a virtual machine and whoever runs it |
//! | `kernel.rs` | which of these the running kernel has |

pub mod activation;
pub mod attempts;
pub mod breadcrumbs;
pub mod descriptors;
pub mod entropy;
pub mod kernel;
pub mod landlock;
pub mod last_act;
pub mod limits;
pub mod memory;
pub mod privileges;
pub mod process;
pub mod pulse;
pub mod sandbox;
pub mod seccomp;
pub mod slices;
pub mod vsock;
