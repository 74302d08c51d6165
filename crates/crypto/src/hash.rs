//! Digests.

use openssl::hash::MessageDigest;
use openssl::md::{Md, MdRef};

use crate::CryptoError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
    Sha3_256,
    Sha3_384,
    Sha3_512,
}

impl Hash {
    pub const ALL: [Self; 7] =
        [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512, Self::Sha3_256, Self::Sha3_384, Self::Sha3_512];

    /// The name in Web Cryptography.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
            Self::Sha3_256 => "SHA3-256",
            Self::Sha3_384 => "SHA3-384",
            Self::Sha3_512 => "SHA3-512",
        }
    }

    pub fn from_name(name: &str) -> Result<Self, CryptoError> {
        let found = Self::ALL.into_iter().find(|hash| hash.name() == name);
        found.ok_or_else(|| CryptoError::NotSupported(format!("{name} is not supported")))
    }

    pub fn digest(self, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        // The first four skip OpenSSL's look-up of the algorithm, which costs as much as a short message.
        Ok(match self {
            Self::Sha1 => openssl::sha::sha1(data).to_vec(),
            Self::Sha256 => openssl::sha::sha256(data).to_vec(),
            Self::Sha384 => openssl::sha::sha384(data).to_vec(),
            Self::Sha512 => openssl::sha::sha512(data).to_vec(),
            _ => openssl::hash::hash(self.message_digest(), data)?.to_vec(),
        })
    }

    pub(crate) fn message_digest(self) -> MessageDigest {
        match self {
            Self::Sha1 => MessageDigest::sha1(),
            Self::Sha256 => MessageDigest::sha256(),
            Self::Sha384 => MessageDigest::sha384(),
            Self::Sha512 => MessageDigest::sha512(),
            Self::Sha3_256 => MessageDigest::sha3_256(),
            Self::Sha3_384 => MessageDigest::sha3_384(),
            Self::Sha3_512 => MessageDigest::sha3_512(),
        }
    }

    pub(crate) fn md(self) -> &'static MdRef {
        match self {
            Self::Sha1 => Md::sha1(),
            Self::Sha256 => Md::sha256(),
            Self::Sha384 => Md::sha384(),
            Self::Sha512 => Md::sha512(),
            Self::Sha3_256 => Md::sha3_256(),
            Self::Sha3_384 => Md::sha3_384(),
            Self::Sha3_512 => Md::sha3_512(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hash;

    #[test]
    fn digests_of_nothing_are_the_published_ones() {
        let starts = [
            (Hash::Sha1, [0xda, 0x39, 0xa3, 0xee]),
            (Hash::Sha256, [0xe3, 0xb0, 0xc4, 0x42]),
            (Hash::Sha384, [0x38, 0xb0, 0x60, 0xa7]),
            (Hash::Sha512, [0xcf, 0x83, 0xe1, 0x35]),
            (Hash::Sha3_256, [0xa7, 0xff, 0xc6, 0xf8]),
            (Hash::Sha3_384, [0x0c, 0x63, 0xa7, 0x5b]),
            (Hash::Sha3_512, [0xa6, 0x9f, 0x73, 0xcc]),
        ];
        for (hash, start) in starts {
            let digest = hash.digest(b"").unwrap();
            assert_eq!(digest[..4], start, "{}", hash.name());
            assert_eq!(digest.len(), hash.message_digest().size());
            assert_eq!(Hash::from_name(hash.name()), Ok(hash));
        }
    }

    #[test]
    fn an_unknown_name_is_not_supported() {
        assert_eq!(Hash::from_name("MD5").unwrap_err().name(), "NotSupportedError");
    }
}
