//! What a sandbox's agent and its client may send each other. The first byte chooses the reader (`c`: the client, anything else the
//! agent), the rest is frames.

use std::fmt::Debug;

use hearth_sandbox_agent::{AgentReply, AgentRequest, FrameDecoder, WireValue, encode};

pub fn check(data: &[u8]) {
    match data.split_first() {
        Some((b'c', data)) => read::<AgentReply>(data),
        Some((_, data)) => read::<AgentRequest>(data),
        None => {}
    }
}

fn read<M: WireValue + PartialEq + Debug>(data: &[u8]) {
    let (messages, refused) = decode::<M>(data, data.len());
    for step in [1, 3] {
        let (same, also_refused) = decode::<M>(data, step);
        assert!(same == messages && also_refused == refused, "in steps of {step}");
    }
    // What was read, written again, is read again.
    let mut bytes = Vec::new();
    for message in &messages {
        encode(message, &mut bytes).expect("what fitted into a frame does so again");
    }
    assert_eq!(decode::<M>(&bytes, bytes.len()), (messages, false));
}

/// All that is in `data`, given in pieces of `step` bytes, and whether it was refused in the end.
fn decode<M: WireValue>(data: &[u8], step: usize) -> (Vec<M>, bool) {
    let (mut decoder, mut messages) = (FrameDecoder::new(), Vec::new());
    for piece in data.chunks(step.max(1)) {
        decoder.push(piece);
        loop {
            match decoder.message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(_) => return (messages, true),
            }
        }
    }
    (messages, false)
}
