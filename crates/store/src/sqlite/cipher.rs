//! Encryption of secrets with XChaCha20-Poly1305, whose nonces are long enough to be random. App
//! and name are authenticated with the value, so that a process with write access to the database
//! cannot swap rows.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use crate::error::StoreError;
use crate::random::random;

pub(super) struct Cipher(XChaCha20Poly1305);

pub(super) struct Ciphertext {
    pub nonce: [u8; 24],
    pub value: Vec<u8>,
}

/// The app and name that a value is bound to.
pub(super) enum SecretBinding<'a> {
    Secret {
        app: &'a str,
        name: &'a str,
    },
    /// A known value whose decryption shows that the key is the right one.
    Mark,
}

impl Cipher {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    pub(super) fn seal(&self, place: &SecretBinding<'_>, plain: &[u8]) -> Result<Ciphertext, StoreError> {
        let nonce = random()?;
        let payload = Payload { msg: plain, aad: &place.bytes() };
        let value = self.0.encrypt(&XNonce::from(nonce), payload).expect("values are far below the cipher's limit");
        Ok(Ciphertext { nonce, value })
    }

    /// `None` if it was encrypted with another key or for another binding, or was modified.
    pub(super) fn open(&self, place: &SecretBinding<'_>, sealed: &Ciphertext) -> Option<Vec<u8>> {
        let payload = Payload { msg: &sealed.value, aad: &place.bytes() };
        self.0.decrypt(&XNonce::from(sealed.nonce), payload).ok()
    }
}

impl SecretBinding<'_> {
    /// Includes the app's length, so that different bindings have different bytes.
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
    fn only_the_right_key_and_binding_decrypt() {
        let cipher = Cipher::new(&[7; 32]);
        let place = SecretBinding::Secret { app: "shop", name: "KEY" };
        let mut sealed = cipher.seal(&place, b"value").unwrap();
        assert_eq!(cipher.open(&place, &sealed).as_deref(), Some(&b"value"[..]));
        assert!(Cipher::new(&[8; 32]).open(&place, &sealed).is_none());
        for (app, name) in [("shop", "KEX"), ("sho", "pKEY"), ("shopK", "EY"), ("", "shopKEY")] {
            assert!(cipher.open(&SecretBinding::Secret { app, name }, &sealed).is_none(), "{app} {name}");
        }
        assert!(cipher.open(&SecretBinding::Mark, &sealed).is_none());
        sealed.value[0] ^= 1;
        assert!(cipher.open(&place, &sealed).is_none());
    }

    #[test]
    fn equal_values_have_different_ciphertexts() {
        let cipher = Cipher::new(&[7; 32]);
        let sealed = [0, 1].map(|_| cipher.seal(&SecretBinding::Mark, b"value").unwrap());
        assert!(sealed[0].value != sealed[1].value && sealed[0].nonce != sealed[1].nonce);
    }
}
