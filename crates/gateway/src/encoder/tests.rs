#![allow(clippy::unwrap_used)]
use std::collections::VecDeque;
use std::io::Read;
use std::task::Waker;

use super::*;

/// A source that pauses where it says so.
struct Source(VecDeque<Poll<Option<Result<Bytes, BodyError>>>>);

impl ByteStream for Source {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.pop_front().unwrap_or(Poll::Ready(None))
    }
}

fn piece(text: &str) -> Poll<Option<Result<Bytes, BodyError>>> {
    Poll::Ready(Some(Ok(Bytes::copy_from_slice(text.as_bytes()))))
}

fn stream(coding: Coding, all: impl IntoIterator<Item = Poll<Option<Result<Bytes, BodyError>>>>) -> Compressed {
    Compressed::new(Body::Stream(Box::new(Source(all.into_iter().collect()))), coding)
}

fn poll(stream: &mut Compressed) -> Poll<Option<Result<Bytes, BodyError>>> {
    stream.poll_next(&mut Context::from_waker(Waker::noop()))
}

/// As much as can be read of what is there.
fn decode(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut reader: Box<dyn Read + '_> = match coding {
        Coding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
        Coding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4096)),
    };
    let (mut out, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        out.extend_from_slice(&buffer[..count]);
    }
    out
}

#[test]
fn whole_bodies_round_trip() {
    let text = "hello, hello, hello ".repeat(700);
    for coding in [Coding::Gzip, Coding::Brotli] {
        let small = BodyEncoder::new(coding).whole(text.as_bytes());
        assert!(small.len() < text.len() / 20, "{}", small.len());
        assert_eq!(decode(coding, &small), text.as_bytes());
    }
}

#[test]
fn a_pause_in_the_source_flushes_the_encoder() {
    for coding in [Coding::Gzip, Coding::Brotli] {
        let mut body = stream(coding, [piece("one "), Poll::Pending, Poll::Pending, piece("two"), Poll::Pending]);
        let (mut sent, mut pauses) = (Vec::new(), Vec::new());
        loop {
            match poll(&mut body) {
                Poll::Ready(Some(piece)) => sent.extend_from_slice(&piece.unwrap()),
                Poll::Ready(None) => break,
                Poll::Pending => pauses.push(decode(coding, &sent)),
            }
        }
        assert_eq!(pauses.first().unwrap(), b"one ", "{coding:?}");
        assert_eq!(pauses.last().unwrap(), if pauses.len() > 1 { &b"one two"[..] } else { b"one " }, "{coding:?}");
        assert_eq!(decode(coding, &sent), b"one two");
    }
}

#[test]
fn large_bodies_yield_between_steps() {
    let text: String = (0..20_000).map(|n| format!("{n} bottles ")).collect();
    for coding in [Coding::Gzip, Coding::Brotli] {
        let mut body = Compressed::new(Body::Full(text.clone().into()), coding);
        let (mut sent, mut rests) = (Vec::new(), 0);
        loop {
            match poll(&mut body) {
                Poll::Ready(Some(piece)) => sent.extend_from_slice(&piece.unwrap()),
                Poll::Ready(None) => break,
                Poll::Pending => rests += 1,
            }
        }
        assert_eq!(decode(coding, &sent), text.as_bytes());
        assert!(rests + 1 >= text.len() / STEP, "{rests} rests in {} bytes", text.len());
    }
}

#[test]
fn a_failed_source_fails_the_body() {
    let failed = Poll::Ready(Some(Err(BodyError::Cancelled)));
    for coding in [Coding::Gzip, Coding::Brotli] {
        let mut body = stream(coding, [piece("one"), failed.clone()]);
        let last = loop {
            match poll(&mut body) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(other) => break other,
                Poll::Pending => panic!("nothing pauses"),
            }
        };
        assert_eq!(last, Some(Err(BodyError::Cancelled)));
    }
}
