//! HMAC, and comparison in constant time.

use openssl::pkey::PKey;
use openssl::sign::Signer;

use crate::{CryptoError, Hash};

pub(crate) fn hmac(hash: Hash, key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    // OpenSSL takes no empty key; HMAC pads keys with zeros, so one zero byte is the same key.
    let key = PKey::hmac(if key.is_empty() { &[0] } else { key })?;
    let mut signer = Signer::new(hash.message_digest(), &key)?;
    signer.update(data)?;
    Ok(signer.sign_to_vec()?)
}

pub(crate) fn verify_hmac(hash: Hash, key: &[u8], data: &[u8], signature: &[u8]) -> Result<bool, CryptoError> {
    Ok(constant_time_eq(&hmac(hash, key, data)?, signature))
}

/// Whether both are the same bytes; the time depends on their lengths alone.
pub fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && openssl::memcmp::eq(one, other)
}

#[cfg(test)]
mod tests {
    use super::{constant_time_eq, hmac, verify_hmac};
    use crate::Hash;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        let mac = hmac(Hash::Sha256, b"Jefe", b"what do ya want for nothing?").unwrap();
        assert_eq!(mac[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
        assert!(verify_hmac(Hash::Sha256, b"Jefe", b"what do ya want for nothing?", &mac).unwrap());
        assert!(!verify_hmac(Hash::Sha256, b"Jefe", b"what do ya want for something?", &mac).unwrap());
        assert!(!verify_hmac(Hash::Sha256, b"Jefe", b"what do ya want for nothing?", &mac[1..]).unwrap());
    }

    #[test]
    fn an_empty_key_is_a_key() {
        let mac = hmac(Hash::Sha256, b"", b"").unwrap();
        assert_eq!(mac[..4], [0xb6, 0x13, 0x67, 0x9a]);
    }

    #[test]
    fn other_lengths_are_other_bytes() {
        assert!(constant_time_eq(b"", b""));
        assert!(!constant_time_eq(b"a", b"ab"));
        assert!(!constant_time_eq(b"a", b"b"));
    }
}
