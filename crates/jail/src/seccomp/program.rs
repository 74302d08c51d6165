//! Rules about system calls, as the program that the kernel runs at each call (classic BPF over `seccomp_data`).
//!
//! ```text
//! wrong architecture -> the process is killed
//! number in `first`  -> allowed                      the few that are most of all calls
//! binary search      -> the rule of the number       a dozen comparisons for a few hundred numbers
//! above NEWEST       -> ENOSYS                       so that libraries fall back, as on an older kernel
//! else               -> EPERM
//! ```
//! Since Linux 5.11 the kernel finds out at entry which numbers are allowed whatever their arguments, and does not run the
//! program for those at all.

use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W};
use libc::{SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The last system call that was looked at when the profiles were written (Linux 6.18). What came later is not there.
const NEWEST: u32 = 470;

/// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS: u32 = 16;

/// What becomes of one system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// Refused with this error, which says more to the caller than the usual one.
    Refuse(i32),
    /// Allowed where all of these hold.
    Where(Vec<Check>),
}

/// A question about half of an argument. The lower one is enough where the argument is 32 bits wide to the kernel, or means
/// nothing in its upper half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) argument: u8,
    pub(super) half: Half,
    pub(super) mask: u32,
    pub(super) must: Must,
}

/// Offsets within an argument: both machines have the lower half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Lower = 0,
    Upper = 4,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Must {
    BeOneOf(Vec<u32>),
    BeNoneOf(Vec<u32>),
}

/// The rules of a profile. Numbers in `first` must be in `rules` too, as allowed.
pub(super) struct Rules {
    pub(super) first: Vec<libc::c_long>,
    pub(super) rules: Vec<(libc::c_long, Verdict)>,
}

/// Compiles the rules. A number may be named more than once if the verdicts are the same.
pub(super) fn compile(rules: Rules) -> Box<[sock_filter]> {
    let number = |call: &libc::c_long| u32::try_from(*call).expect("system calls have small positive numbers");
    let mut sorted: Vec<(u32, Verdict)> =
        rules.rules.iter().map(|(call, verdict)| (number(call), verdict.clone())).collect();
    sorted.sort_by_key(|(number, _)| *number);
    sorted.dedup();
    assert!(sorted.windows(2).all(|pair| pair[0].0 != pair[1].0), "a system call has one verdict");
    let mut program =
        vec![load(ARCHITECTURE_AT), jump(BPF_JEQ, ARCHITECTURE, 1, 0), ret(SECCOMP_RET_KILL_PROCESS), load(NUMBER)];
    for call in &rules.first {
        program.extend([jump(BPF_JEQ, number(call), 0, 1), ret(SECCOMP_RET_ALLOW)]);
    }
    program.extend(search(&sorted));
    program.into_boxed_slice()
}

/// A program that refuses one call with this error and allows all others.
pub(super) fn refuse(call: libc::c_long, error: i32) -> Box<[sock_filter]> {
    let number = u32::try_from(call).expect("system calls have small positive numbers");
    Box::new([load(NUMBER), jump(BPF_JEQ, number, 0, 1), ret(refusal(error)), ret(SECCOMP_RET_ALLOW)])
}

/// Comparisons at the end of a search.
const LINEAR_SEARCH_MAX: usize = 4;

fn search(rules: &[(u32, Verdict)]) -> Vec<sock_filter> {
    if rules.len() > LINEAR_SEARCH_MAX {
        let (below, above) = rules.split_at(rules.len() / 2);
        let left = search(below);
        // A conditional jump reaches 255 instructions; an unconditional one reaches all.
        let distance = u32::try_from(left.len()).expect("a program has at most 4096 instructions");
        let mut program = vec![jump(BPF_JGE, above[0].0, 0, 1), statement(BPF_JMP | BPF_JA, distance)];
        program.extend(left);
        program.extend(search(above));
        return program;
    }
    let mut program = Vec::new();
    for (number, verdict) in rules {
        let action = instructions_for(verdict);
        let length = u8::try_from(action.len()).expect("a verdict asks about few values");
        program.push(jump(BPF_JEQ, *number, 0, length));
        program.extend(action);
    }
    program.extend([jump(BPF_JGE, NEWEST + 1, 0, 1), ret(refusal(libc::ENOSYS)), ret(refusal(libc::EPERM))]);
    program
}

fn instructions_for(verdict: &Verdict) -> Vec<sock_filter> {
    let mut program = Vec::new();
    let checks = match verdict {
        Verdict::Allow => &[][..],
        Verdict::Refuse(error) => return vec![ret(refusal(*error))],
        Verdict::Where(checks) => checks,
    };
    for Check { argument, half, mask, must } in checks {
        let offset = ARGUMENTS + 8 * u32::from(*argument) + *half as u32;
        program.extend([load(offset), statement(BPF_ALU | BPF_AND | BPF_K, *mask)]);
        let (values, is_wanted) = match must {
            Must::BeOneOf(values) => (values, true),
            Must::BeNoneOf(values) => (values, false),
        };
        // One value after the other: equal jumps behind the list, to the refusal or over it.
        for (at, value) in values.iter().enumerate() {
            let rest = u8::try_from(values.len() - 1 - at).expect("a verdict asks about few values");
            program.push(jump(BPF_JEQ, *value, rest + 1, 0));
        }
        let refuse = ret(refusal(libc::EPERM));
        if is_wanted {
            // Not found: refused here. Found: one further.
            program.push(refuse);
        } else {
            // Not found: over the refusal. Found: one further, which is the refusal.
            program.extend([statement(BPF_JMP | BPF_JA, 1), refuse]);
        }
    }
    program.push(ret(SECCOMP_RET_ALLOW));
    program
}

fn refusal(error: i32) -> u32 {
    SECCOMP_RET_ERRNO | u32::try_from(error).expect("errors are positive")
}

fn load(offset: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset)
}

fn ret(verdict: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, verdict)
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(comparison: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | comparison | BPF_K) as u16, jt, jf, k }
}

#[cfg(test)]
#[path = "program/tests.rs"]
mod tests;
