//! Framing of messages: a length of four bytes, big endian, then JSON. Messages are rare (requests never take this path),
//! so a text format that can be read while debugging is worth its cost.
//!
//! End of file between two messages is a regular end; within a message it is an error.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longer messages are refused. A catalogue of ten thousand versions has a tenth of this.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the other side is gone: {0}")]
    Io(#[from] io::Error),
    #[error("a message of {0} bytes is longer than any should be")]
    TooLong(usize),
    #[error("a message that is none: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// Writes a message and flushes.
pub fn write<M: Serialize>(to: &mut impl Write, message: &M) -> Result<(), FrameError> {
    to.write_all(&frame(message)?)?;
    Ok(to.flush()?)
}

/// Reads the next message; `None` when the peer has closed the socket.
pub fn read<M: DeserializeOwned>(from: &mut impl Read) -> Result<Option<M>, FrameError> {
    let mut length = [0; 4];
    // Read alone, the first byte tells a regular end from an end within a message.
    if from.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..])?;
    let mut text = vec![0; checked(length)?];
    from.read_exact(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

pub async fn write_async<M: Serialize>(to: &mut (impl AsyncWrite + Unpin), message: &M) -> Result<(), FrameError> {
    to.write_all(&frame(message)?).await?;
    Ok(to.flush().await?)
}

/// Reads the next message; `None` when the peer has closed the socket.
pub async fn read_async<M: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> Result<Option<M>, FrameError> {
    let mut length = [0; 4];
    if from.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..]).await?;
    let mut text = vec![0; checked(length)?];
    from.read_exact(&mut text).await?;
    Ok(Some(serde_json::from_slice(&text)?))
}

fn frame<M: Serialize>(message: &M) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    match u32::try_from(length) {
        Ok(short) if length <= MAX_MESSAGE_BYTES => bytes[..4].copy_from_slice(&short.to_be_bytes()),
        _ => return Err(FrameError::TooLong(length)),
    }
    Ok(bytes)
}

fn checked(length: [u8; 4]) -> Result<usize, FrameError> {
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_MESSAGE_BYTES { Err(FrameError::TooLong(length)) } else { Ok(length) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_a_truncated_message_is_an_error() {
        let mut bytes = Vec::new();
        write(&mut bytes, &vec!["a", "b"]).unwrap();
        write(&mut bytes, &Vec::<String>::new()).unwrap();
        let mut from = &bytes[..];
        assert_eq!(read::<Vec<String>>(&mut from).unwrap(), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read::<Vec<String>>(&mut from).unwrap(), Some(Vec::new()));
        assert_eq!(read::<Vec<String>>(&mut from).unwrap(), None);
        for cut in 1..bytes.len() - 6 {
            let mut from = &bytes[..cut];
            assert!(matches!(read::<Vec<String>>(&mut from), Err(FrameError::Io(_))), "cut at {cut}");
        }
    }

    #[test]
    fn an_oversized_length_is_refused_before_memory_is_allocated() {
        assert!(matches!(read::<u8>(&mut &[0xff_u8; 64][..]), Err(FrameError::TooLong(_))));
        assert!(matches!(read::<u8>(&mut &b"\0\0\0\x02{}"[..]), Err(FrameError::Malformed(_))));
    }
}
