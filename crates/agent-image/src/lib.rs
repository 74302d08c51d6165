//! The agent of sandboxes as bytes: a static program that needs nothing of the system that it is started on. `build.rs` has it
//! built from `crates/agent`, so that a driver always starts the agent that speaks its own version of the protocol.
#![forbid(unsafe_code)]

/// An executable for the machine that this was built for.
pub const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hearth-agent"));

#[cfg(test)]
mod tests {
    use super::AGENT;

    /// The kind of program header that names a dynamic loader.
    const INTERPRETER: usize = 3;

    #[test]
    fn the_agent_is_a_small_program_that_loads_nothing() {
        assert_eq!(AGENT[..4], *b"\x7fELF");
        let number =
            |at: usize, bytes: usize| AGENT[at..at + bytes].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
        let (first, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
        let interpreters = (0..count).filter(|index| number(first + index * size, 4) == INTERPRETER).count();
        assert_eq!(interpreters, 0, "it asks for a dynamic loader");
        assert!(AGENT.len() < 4 << 20, "{} bytes", AGENT.len());
    }
}
