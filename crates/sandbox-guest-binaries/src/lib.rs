//! What sandboxes bring along, as bytes: static programs that need nothing of the system that they are started on. `build.rs`
//! has them built from `crates/sandbox-agent` and `crates/sandbox-typescript`, so that a driver always starts the agent that speaks its own
//! version of the protocol.
#![forbid(unsafe_code)]

/// The first process of a sandbox. An executable for the machine that this was built for, as the other is.
pub const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hearth-agent"));

/// Turns TypeScript into JavaScript; lies beside the agent.
pub const TYPESCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hearth-typescript"));

#[cfg(test)]
mod tests {
    use super::{AGENT, TYPESCRIPT};

    /// The kind of program header that names a dynamic loader.
    const INTERPRETER: usize = 3;

    fn interpreters(program: &[u8]) -> usize {
        assert_eq!(program[..4], *b"\x7fELF");
        let number = |at: usize, bytes: usize| {
            program[at..at + bytes].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
        };
        let (first, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
        (0..count).filter(|index| number(first + index * size, 4) == INTERPRETER).count()
    }

    #[test]
    fn the_programs_are_small_and_load_nothing() {
        for (program, most) in [(AGENT, 4 << 20), (TYPESCRIPT, 8 << 20)] {
            assert_eq!(interpreters(program), 0, "it asks for a dynamic loader");
            assert!(program.len() < most, "{} bytes", program.len());
        }
    }
}
