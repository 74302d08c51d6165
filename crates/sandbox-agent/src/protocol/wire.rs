//! Encoding of values: numbers little-endian and of fixed size, a length of four bytes before text
//! and lists, one byte for the variant of an enum. Written by hand because the agent must stay
//! small.
//!
//! Reading never takes more memory than the bytes that are there: a length is checked against what is left before
//! anything is made for it.

use std::fmt;
use std::time::Duration;

/// Bytes that are no message. The stream is unusable after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The message ends within a value.
    Cut,
    /// Bytes are left after the message.
    Surplus(usize),
    /// No such variant of this enum.
    Unknown { what: &'static str, tag: u8 },
    /// Text that is not UTF-8.
    Text,
    /// A frame longer than any may be.
    TooLong(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("a message ends within a value"),
            Self::Surplus(bytes) => write!(f, "{bytes} bytes are left after a message"),
            Self::Unknown { what, tag } => write!(f, "no {what} is written as {tag}"),
            Self::Text => f.write_str("a text is not UTF-8"),
            Self::TooLong(bytes) => write!(f, "a message of {bytes} bytes is longer than any may be"),
        }
    }
}

impl std::error::Error for Malformed {}

/// A value that can be encoded and decoded.
pub trait WireValue: Sized {
    fn put(&self, to: &mut Vec<u8>);
    fn take(from: &mut &[u8]) -> Result<Self, Malformed>;
}

pub fn take_bytes<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (bytes, rest) = from.split_at_checked(length).ok_or(Malformed::Cut)?;
    *from = rest;
    Ok(bytes)
}

fn put_length(length: usize, to: &mut Vec<u8>) {
    // Longer values do not fit into a frame, which `frame::encode` checks.
    u32::try_from(length).unwrap_or(u32::MAX).put(to);
}

fn take_length(from: &mut &[u8]) -> Result<usize, Malformed> {
    Ok(u32::take(from)? as usize)
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl WireValue for $number {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
                let bytes = take_bytes(from, size_of::<$number>())?;
                Ok(<$number>::from_le_bytes(bytes.try_into().map_err(|_| Malformed::Cut)?))
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64);

impl WireValue for bool {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(Malformed::Unknown { what: "truth value", tag }),
        }
    }
}

impl WireValue for Duration {
    fn put(&self, to: &mut Vec<u8>) {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX).put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Duration::from_nanos(u64::take(from)?))
    }
}

impl WireValue for String {
    fn put(&self, to: &mut Vec<u8>) {
        put_length(self.len(), to);
        to.extend_from_slice(self.as_bytes());
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        let length = take_length(from)?;
        std::str::from_utf8(take_bytes(from, length)?).map(str::to_owned).map_err(|_| Malformed::Text)
    }
}

/// Raw bytes. A type of its own, so that a list of bytes is not encoded byte by byte.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Vec<u8>);

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl WireValue for Blob {
    fn put(&self, to: &mut Vec<u8>) {
        put_length(self.0.len(), to);
        to.extend_from_slice(&self.0);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        let length = take_length(from)?;
        Ok(Self(take_bytes(from, length)?.to_vec()))
    }
}

impl<T: WireValue> WireValue for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        put_length(self.len(), to);
        self.iter().for_each(|value| value.put(to));
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        let length = take_length(from)?;
        // Grows as values come: a length alone takes no memory.
        let mut values = Vec::new();
        for _ in 0..length {
            values.push(T::take(from)?);
        }
        Ok(values)
    }
}

impl<T: WireValue> WireValue for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        bool::take(from)?.then(|| T::take(from)).transpose()
    }
}

impl<A: WireValue, B: WireValue> WireValue for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

/// A struct whose fields are encoded one after the other.
macro_rules! wire_struct {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$note:meta])* pub $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$note])* pub $field: $type),* }

        impl $crate::protocol::wire::WireValue for $name {
            fn put(&self, to: &mut Vec<u8>) {
                $($crate::protocol::wire::WireValue::put(&self.$field, to);)*
            }
            fn take(from: &mut &[u8]) -> Result<Self, $crate::protocol::wire::Malformed> {
                Ok(Self { $($field: $crate::protocol::wire::WireValue::take(from)?),* })
            }
        }
    };
}

/// An enum whose variants are identified by the byte before them here.
macro_rules! wire_enum {
    ($(#[$meta:meta])* pub enum $name:ident, $what:literal {
        $($(#[$note:meta])* $tag:literal => $variant:ident { $($(#[$inner:meta])* $field:ident: $type:ty),* $(,)? }),* $(,)?
    }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$note])* $variant { $($(#[$inner])* $field: $type),* }),* }

        impl $crate::protocol::wire::WireValue for $name {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field),* } => { to.push($tag); $($crate::protocol::wire::WireValue::put($field, to);)* })*
                }
            }
            fn take(from: &mut &[u8]) -> Result<Self, $crate::protocol::wire::Malformed> {
                match <u8 as $crate::protocol::wire::WireValue>::take(from)? {
                    $($tag => Ok(Self::$variant { $($field: $crate::protocol::wire::WireValue::take(from)?),* }),)*
                    tag => Err($crate::protocol::wire::Malformed::Unknown { what: $what, tag }),
                }
            }
        }
    };
}

/// An enum without fields.
macro_rules! wire_tags {
    ($(#[$meta:meta])* pub enum $name:ident, $what:literal { $($(#[$note:meta])* $tag:literal => $variant:ident),* $(,)? }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$note])* $variant),* }

        impl $crate::protocol::wire::WireValue for $name {
            fn put(&self, to: &mut Vec<u8>) {
                to.push(match self { $(Self::$variant => $tag),* });
            }
            fn take(from: &mut &[u8]) -> Result<Self, $crate::protocol::wire::Malformed> {
                match <u8 as $crate::protocol::wire::WireValue>::take(from)? {
                    $($tag => Ok(Self::$variant),)*
                    tag => Err($crate::protocol::wire::Malformed::Unknown { what: $what, tag }),
                }
            }
        }
    };
}

pub(crate) use {wire_enum, wire_struct, wire_tags};
