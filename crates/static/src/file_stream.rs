//! A range of a file as a body, read in chunks on tokio's blocking pool, each when it is polled
//! for.
//! Invariant: the body has exactly the promised number of bytes, or fails: a file that shrinks is
//! an error, and growth is not read.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{BodyError, ByteStream};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

const PIECE: u64 = 128 * 1024;

pub struct FileStream {
    state: State,
    remaining: u64,
    runtime: Handle,
}

enum State {
    Resting(File),
    Reading(JoinHandle<(File, io::Result<Bytes>)>),
    Over,
}

impl FileStream {
    /// The `length` bytes from `start`. Must be created within a runtime, whose pool reads.
    pub fn new(mut file: File, start: u64, length: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(start))?;
        Ok(Self { state: State::Resting(file), remaining: length, runtime: Handle::current() })
    }

    fn fail(&mut self, why: String) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.state = State::Over;
        Poll::Ready(Some(Err(BodyError::Failed(why))))
    }
}

impl ByteStream for FileStream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let wanted = self.remaining.min(PIECE);
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Poll::Ready(None),
                State::Resting(_) if wanted == 0 => return Poll::Ready(None),
                State::Resting(file) => {
                    self.state = State::Reading(self.runtime.spawn_blocking(move || read(file, wanted)));
                }
                State::Reading(mut reading) => match Pin::new(&mut reading).poll(cx) {
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok((file, Ok(piece)))) if piece.len() as u64 == wanted => {
                        self.remaining -= wanted;
                        self.state = State::Resting(file);
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    Poll::Ready(Ok((_, Ok(_)))) => {
                        return self.fail("the file became shorter while it was sent".into());
                    }
                    Poll::Ready(Ok((_, Err(error)))) => return self.fail(format!("the file cannot be read: {error}")),
                    Poll::Ready(Err(error)) => return self.fail(format!("the file is not read any more: {error}")),
                },
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.remaining)
    }
}

fn read(file: File, wanted: u64) -> (File, io::Result<Bytes>) {
    let mut piece = Vec::with_capacity(wanted as usize);
    let result = (&file).take(wanted).read_to_end(&mut piece);
    (file, result.map(|_| Bytes::from(piece)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use hearth_core::Body;

    use super::*;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    fn body(path: &std::path::Path, start: u64, length: u64) -> Body {
        Body::Stream(Box::new(FileStream::new(File::open(path).unwrap(), start, length).unwrap()))
    }

    #[tokio::test]
    async fn all_ranges_are_complete() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        let content = content(300_001);
        fs::write(temp.path(), &content).unwrap();
        for (start, length) in [(0, 300_001), (0, 0), (1, 131_072), (131_072, 131_073), (300_000, 1), (5, 200_000)] {
            let body = body(temp.path(), start, length);
            assert_eq!(body.length(), Some(length));
            let all = body.collect().await.unwrap();
            assert!(all == content[start as usize..(start + length) as usize], "{start} {length}");
        }
    }

    #[tokio::test]
    async fn lengths_decrease_with_every_chunk() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        fs::write(temp.path(), content(300_000)).unwrap();
        let mut body = body(temp.path(), 0, 300_000);
        let mut left = 300_000;
        while let Some(piece) = body.next().await {
            let piece = piece.unwrap();
            assert!(!piece.is_empty() && piece.len() as u64 <= PIECE);
            left -= piece.len() as u64;
            assert_eq!(body.length(), Some(left));
        }
        assert_eq!(left, 0);
    }

    #[tokio::test]
    async fn a_file_that_shrinks_fails_and_one_that_grows_does_not() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        fs::write(temp.path(), content(400_000)).unwrap();
        let mut shrinking = body(temp.path(), 0, 400_000);
        shrinking.next().await.unwrap().unwrap();
        let file = File::options().write(true).open(temp.path()).unwrap();
        file.set_len(200_000).unwrap();
        assert!(matches!(shrinking.next().await, Some(Err(BodyError::Failed(_)))));
        assert!(shrinking.next().await.is_none());

        let mut growing = body(temp.path(), 0, 200_000);
        growing.next().await.unwrap().unwrap();
        file.set_len(500_000).unwrap();
        assert_eq!(growing.collect().await.unwrap().len() as u64, 200_000 - PIECE);
    }
}
