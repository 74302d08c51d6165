//! A file of the app as a body: read in pieces on the runtime's blocking threads, one piece at a
//! time and on demand, so that neither a slow disk nor a slow client blocks a thread that serves.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::files::OpenedFile;
use hearth_core::{Body, BodyError, ByteStream, RangedBody};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// About as much as a client takes at once; small enough to hold for each slow reader.
const CHUNK_BYTES: u64 = 64 << 10;

struct FileBody {
    file: Arc<File>,
    /// The offset of the next piece.
    at: u64,
    left: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    runtime: Handle,
}

/// The bytes of `opened` from `start` to `end`, as far as it has them.
pub(crate) fn file_body(opened: OpenedFile, start: u64, end: u64, runtime: Handle) -> Body {
    let left = end.min(opened.len).saturating_sub(start);
    if left == 0 {
        return Body::Empty;
    }
    Body::Stream(Box::new(FileBody { file: Arc::new(opened.file), at: start, left, reading: None, runtime }))
}

impl FileBody {
    fn read(&self) -> JoinHandle<io::Result<Bytes>> {
        let (file, at, length) = (self.file.clone(), self.at, self.left.min(CHUNK_BYTES));
        self.runtime.spawn_blocking(move || {
            let mut piece = vec![0; length as usize];
            file.read_exact_at(&mut piece, at)?;
            Ok(Bytes::from(piece))
        })
    }
}

impl ByteStream for FileBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut reading = self.reading.take().unwrap_or_else(|| self.read());
        let read = match Pin::new(&mut reading).poll(cx) {
            Poll::Pending => {
                self.reading = Some(reading);
                return Poll::Pending;
            }
            Poll::Ready(read) => read.unwrap_or_else(|error| Err(io::Error::other(error))),
        };
        Poll::Ready(Some(match read {
            Ok(piece) => {
                self.at += piece.len() as u64;
                self.left -= piece.len() as u64;
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(BodyError::Failed("the file became shorter while it was read".into()))
            }
            Err(error) => Err(BodyError::Failed(format!("the file cannot be read: {error}"))),
        }))
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.left)
    }

    fn as_ranged(&mut self) -> Option<&mut dyn RangedBody> {
        self.reading.is_none().then_some(self as &mut dyn RangedBody)
    }
}

impl RangedBody for FileBody {
    fn keep(&mut self, start: u64, length: u64) {
        let start = start.min(self.left);
        self.at += start;
        self.left = length.min(self.left - start);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    /// An unlinked file with this content.
    fn opened(content: &[u8]) -> OpenedFile {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hearth-file-body-{}-{number}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.write_all(content).unwrap();
        OpenedFile { len: content.len() as u64, file }
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
    }

    #[test]
    fn a_file_comes_in_pieces_and_says_how_much_is_left() {
        run(async {
            let content: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
            let mut body = file_body(opened(&content), 0, u64::MAX, Handle::current());
            assert_eq!(body.length(), Some(200_000));
            let first = body.next().await.unwrap().unwrap();
            assert_eq!(first.len() as u64, CHUNK_BYTES);
            assert_eq!(body.length(), Some(200_000 - CHUNK_BYTES));
            assert_eq!([first.as_ref(), &body.collect().await.unwrap()].concat(), content);
        });
    }

    #[test]
    fn a_part_is_clamped_to_the_file() {
        run(async {
            let part = |start, end| file_body(opened(b"0123456789"), start, end, Handle::current());
            assert_eq!(part(2, 5).collect().await.unwrap().as_ref(), b"234");
            assert_eq!(part(8, 50).collect().await.unwrap().as_ref(), b"89");
            assert!(part(10, 20).is_empty() && part(5, 2).is_empty());
            let Body::Stream(mut stream) = part(2, 9) else { panic!("it has bytes") };
            stream.as_ranged().unwrap().keep(3, 2);
            assert_eq!(stream.remaining(), Some(2));
            assert_eq!(Body::Stream(stream).collect().await.unwrap().as_ref(), b"56");
        });
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_not_a_short_body() {
        run(async {
            let mut file = opened(b"short");
            file.len = 100;
            let error = file_body(file, 0, u64::MAX, Handle::current()).collect().await.unwrap_err();
            assert!(error.to_string().contains("shorter"), "{error}");
        });
    }
}
