//! The programs are run here by a small machine of our own, so that every number and argument can be tried.

use super::*;
use crate::seccomp::{Filter, UnixSockets};

/// What the kernel would answer to this call.
fn run(program: &[sock_filter], architecture: u32, call: u32, arguments: [u64; 6]) -> u32 {
    run_with(program, architecture, call, |argument| arguments[argument])
}

fn run_with(program: &[sock_filter], architecture: u32, call: u32, argument: impl Fn(usize) -> u64) -> u32 {
    let (mut at, mut value) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        let code = u32::from(code);
        at += 1;
        let branch = |is_true: bool| usize::from(if is_true { jt } else { jf });
        if code == BPF_LD | BPF_W | BPF_ABS {
            value = match k {
                NUMBER => call,
                ARCHITECTURE_AT => architecture,
                offset => {
                    let argument = argument((offset - ARGUMENTS) as usize / 8);
                    if offset % 8 == 0 { argument as u32 } else { (argument >> 32) as u32 }
                }
            };
        } else if code == BPF_RET | BPF_K {
            return k;
        } else if code == BPF_ALU | BPF_AND | BPF_K {
            value &= k;
        } else if code == BPF_JMP | BPF_JA {
            at += k as usize;
        } else if code == BPF_JMP | BPF_JEQ | BPF_K {
            at += branch(value == k);
        } else if code == BPF_JMP | BPF_JGE | BPF_K {
            at += branch(value >= k);
        } else {
            panic!("no such instruction: {code}");
        }
    }
}

fn rules(rules: Vec<(libc::c_long, Verdict)>) -> Box<[sock_filter]> {
    compile(Rules { first: vec![1], rules })
}

#[test]
fn every_number_gets_its_own_verdict() {
    // Numbers with gaps, more than one level of search deep.
    let allowed: Vec<libc::c_long> = (0..400).filter(|number| number % 3 != 2).collect();
    let program = rules(allowed.iter().map(|number| (*number, Verdict::Allow)).collect());
    for number in 0..500 {
        let expected = match number {
            n if allowed.contains(&n) => SECCOMP_RET_ALLOW,
            n if n > libc::c_long::from(NEWEST) => refusal(libc::ENOSYS),
            _ => refusal(libc::EPERM),
        };
        assert_eq!(run(&program, ARCHITECTURE, number as u32, [0; 6]), expected, "{number}");
    }
    // The 32-bit way to make 64-bit calls has numbers of its own.
    assert_eq!(run(&program, ARCHITECTURE, 0x4000_0000, [0; 6]), refusal(libc::ENOSYS));
    assert_eq!(run(&program, 0x4000_0003, 1, [0; 6]), SECCOMP_RET_KILL_PROCESS, "32-bit calls");
}

#[test]
fn one_call_is_refused() {
    let program = refuse(435, libc::ENOSYS);
    assert_eq!(run(&program, ARCHITECTURE, 435, [0; 6]), refusal(libc::ENOSYS));
    assert_eq!(run(&program, ARCHITECTURE, 434, [0; 6]), SECCOMP_RET_ALLOW);
}

/// Else the kernel could not know it beforehand, and would run all programs at each of these calls.
#[test]
fn what_every_request_needs_is_allowed_by_its_number_alone() {
    let filter = Filter::for_cell(UnixSockets::Forbidden);
    let unseen = |argument: usize| -> u64 { panic!("argument {argument} is looked at") };
    for call in [
        libc::SYS_epoll_pwait,
        libc::SYS_recvfrom,
        libc::SYS_sendto,
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_futex,
    ] {
        for layer in &filter.layers {
            assert_eq!(run_with(&layer.program, ARCHITECTURE, call as u32, unseen), SECCOMP_RET_ALLOW, "{call}");
        }
    }
}

#[test]
fn arguments_are_looked_at() {
    let one_of = Check { argument: 0, half: Half::Lower, mask: u32::MAX, must: Must::BeOneOf(vec![1, 2, 10]) };
    let none_of = Check { argument: 1, half: Half::Lower, mask: 0xf, must: Must::BeNoneOf(vec![3, 4]) };
    let program = rules(vec![
        (1, Verdict::Allow),
        (5, Verdict::Where(vec![one_of, none_of])),
        (6, Verdict::Refuse(libc::ENOSYS)),
        (7, Verdict::Where(crate::seccomp::null(2).into())),
    ]);
    for (pointer, verdict) in [(0, SECCOMP_RET_ALLOW), (1, refusal(libc::EPERM)), (1 << 32, refusal(libc::EPERM))] {
        assert_eq!(run(&program, ARCHITECTURE, 7, [0, 0, pointer, 0, 0, 0]), verdict, "{pointer}");
    }
    let ask = |first: u64, second: u64| run(&program, ARCHITECTURE, 5, [first, second, 0, 0, 0, 0]);
    for first in [1, 2, 10, 1 << 32 | 10] {
        for second in [0, 1, 2, 5, 15, 0x10] {
            assert_eq!(ask(first, second), SECCOMP_RET_ALLOW, "{first} {second}");
        }
        for second in [3, 4, 0x13, 0xff4] {
            assert_eq!(ask(first, second), refusal(libc::EPERM), "{first} {second}");
        }
    }
    for first in [0, 3, 9, 11] {
        assert_eq!(ask(first, 0), refusal(libc::EPERM), "{first}");
    }
    assert_eq!(run(&program, ARCHITECTURE, 6, [0; 6]), refusal(libc::ENOSYS));
}
