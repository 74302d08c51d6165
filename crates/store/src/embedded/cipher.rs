//! Encryption of secrets: XChaCha20-Poly1305, whose nonces are long enough to be random. App and name are authenticated
//! with the value, so that rows cannot be swapped by who can write to the database.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use crate::error::StoreError;
use crate::hex;

pub(super) struct Cipher(XChaCha20Poly1305);

pub(super) struct Sealed {
    pub nonce: [u8; 24],
    pub value: Vec<u8>,
}

/// What a value belongs to.
pub(super) enum Place<'a> {
    Secret {
        app: &'a str,
        name: &'a str,
    },
    /// The known value that tells the right key from a wrong one.
    Mark,
}

impl Cipher {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    pub(super) fn seal(&self, place: &Place<'_>, plain: &[u8]) -> Result<Sealed, StoreError> {
        let nonce = hex::random()?;
        let payload = Payload { msg: plain, aad: &place.bytes() };
        let value =
            self.0.encrypt(XNonce::from_slice(&nonce), payload).expect("values are far below the cipher's limit");
        Ok(Sealed { nonce, value })
    }

    /// None: not sealed with this key, or not for this place, or changed since.
    pub(super) fn open(&self, place: &Place<'_>, sealed: &Sealed) -> Option<Vec<u8>> {
        let payload = Payload { msg: &sealed.value, aad: &place.bytes() };
        self.0.decrypt(XNonce::from_slice(&sealed.nonce), payload).ok()
    }
}

impl Place<'_> {
    /// With the app's length, so that no two places look alike.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Mark => b"hearth key mark".to_vec(),
            Self::Secret { app, name } => {
                let length = (app.len() as u64).to_le_bytes();
                [b"hearth secret ", &length[..], app.as_bytes(), name.as_bytes()].concat()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_key_and_place_open() {
        let cipher = Cipher::new(&[7; 32]);
        let place = Place::Secret { app: "shop", name: "KEY" };
        let mut sealed = cipher.seal(&place, b"value").unwrap();
        assert_eq!(cipher.open(&place, &sealed).as_deref(), Some(&b"value"[..]));
        assert!(Cipher::new(&[8; 32]).open(&place, &sealed).is_none());
        for (app, name) in [("shop", "KEX"), ("sho", "pKEY"), ("shopK", "EY"), ("", "shopKEY")] {
            assert!(cipher.open(&Place::Secret { app, name }, &sealed).is_none(), "{app} {name}");
        }
        assert!(cipher.open(&Place::Mark, &sealed).is_none());
        sealed.value[0] ^= 1;
        assert!(cipher.open(&place, &sealed).is_none());
    }

    #[test]
    fn equal_values_look_different() {
        let cipher = Cipher::new(&[7; 32]);
        let sealed = [0, 1].map(|_| cipher.seal(&Place::Mark, b"value").unwrap());
        assert!(sealed[0].value != sealed[1].value && sealed[0].nonce != sealed[1].nonce);
    }
}
