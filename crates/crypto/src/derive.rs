//! Derivation of bits from a secret: HKDF, PBKDF2.

use openssl::kdf::HkdfMode;

use crate::{CryptoError, Hash, mac};

/// OpenSSL counts rounds, and bytes of a password, in an `int`.
const MAX_COUNT: usize = i32::MAX as usize;

/// HKDF of RFC 5869. The output is at most 255 digests long.
pub(crate) fn hkdf(hash: Hash, key: &[u8], salt: &[u8], info: &[u8], bytes: usize) -> Result<Vec<u8>, CryptoError> {
    let digest = hash.message_digest().size();
    if bytes > 255 * digest {
        return Err(CryptoError::operation(format!(
            "HKDF with {} derives at most {} bytes",
            hash.name(),
            255 * digest
        )));
    }
    let mut out = vec![0; bytes];
    if !out.is_empty() {
        // The first step is an HMAC, since OpenSSL's own takes no empty key.
        let pseudo_random = mac::hmac(hash, if salt.is_empty() { &[0] } else { salt }, key)?;
        openssl::kdf::hkdf(hash.md(), &pseudo_random, None, Some(info), HkdfMode::ExpandOnly, None, &mut out)?;
    }
    Ok(out)
}

pub(crate) fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    bytes: usize,
) -> Result<Vec<u8>, CryptoError> {
    if iterations == 0 {
        return Err(CryptoError::operation("PBKDF2 needs at least one iteration"));
    }
    let mut out = vec![0; bytes];
    if !out.is_empty() {
        if [password.len(), salt.len(), bytes, iterations as usize].into_iter().any(|count| count > MAX_COUNT) {
            return Err(CryptoError::operation("a parameter of PBKDF2 is too large"));
        }
        openssl::pkcs5::pbkdf2_hmac(password, salt, iterations as usize, hash.message_digest(), &mut out)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{hkdf, pbkdf2};
    use crate::Hash;

    #[test]
    fn hkdf_is_that_of_rfc_5869() {
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let out = hkdf(Hash::Sha256, &[0x0b; 22], &salt, &info, 42).unwrap();
        assert_eq!(out[..4], [0x3c, 0xb2, 0x5f, 0x25]);
        assert_eq!(out[38..], [0x87, 0x18, 0x58, 0x65]);
    }

    #[test]
    fn an_empty_key_and_an_empty_salt_are_taken() {
        let out = hkdf(Hash::Sha256, b"", b"", b"", 32).unwrap();
        assert_eq!(out[..4], [0xeb, 0x70, 0xf0, 0x1d]);
        assert!(hkdf(Hash::Sha256, b"x", b"", b"", 0).unwrap().is_empty());
        assert!(hkdf(Hash::Sha256, b"x", b"", b"", 255 * 32 + 1).is_err());
    }

    #[test]
    fn pbkdf2_is_that_of_rfc_6070() {
        let out = pbkdf2(Hash::Sha1, b"password", b"salt", 4096, 20).unwrap();
        assert_eq!(out[..4], [0x4b, 0x00, 0x79, 0x01]);
        assert!(pbkdf2(Hash::Sha1, b"password", b"salt", 0, 20).is_err());
        assert!(pbkdf2(Hash::Sha1, b"", b"", 1, 0).unwrap().is_empty());
    }
}
