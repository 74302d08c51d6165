//! AES in its modes, AES key wrap and ChaCha20-Poly1305.

use openssl::cipher::{Cipher as OpensslCipher, CipherRef};
use openssl::cipher_ctx::{CipherCtx, CipherCtxFlags, CipherCtxRef};
use openssl::error::ErrorStack;

use crate::CryptoError;

const BLOCK: usize = 16;

/// A cipher with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-CBC with PKCS #7 padding.
    Cbc {
        iv: Vec<u8>,
    },
    /// AES-CTR: the last `length` bits of the block count.
    Ctr {
        counter: Vec<u8>,
        length: u32,
    },
    Gcm(Aead),
    Ocb(Aead),
    ChaCha20Poly1305(Aead),
}

/// Parameters of authenticated encryption. The tag follows the ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aead {
    pub iv: Vec<u8>,
    pub additional_data: Vec<u8>,
    pub tag_bytes: usize,
}

impl Cipher {
    pub(crate) fn encrypt(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        match self {
            Self::Cbc { iv } => cbc(key, iv, data, CipherCtxRef::encrypt_init),
            Self::Ctr { counter, length } => ctr(key, counter, *length, data),
            Self::Gcm(aead) => aead.encrypt(Mode::Gcm, key, data),
            Self::Ocb(aead) => aead.encrypt(Mode::Ocb, key, data),
            Self::ChaCha20Poly1305(aead) => aead.encrypt(Mode::ChaCha20Poly1305, key, data),
        }
    }

    pub(crate) fn decrypt(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        match self {
            Self::Cbc { iv } => cbc(key, iv, data, CipherCtxRef::decrypt_init),
            Self::Ctr { counter, length } => ctr(key, counter, *length, data),
            Self::Gcm(aead) => aead.decrypt(Mode::Gcm, key, data),
            Self::Ocb(aead) => aead.decrypt(Mode::Ocb, key, data),
            Self::ChaCha20Poly1305(aead) => aead.decrypt(Mode::ChaCha20Poly1305, key, data),
        }
    }
}

/// OpenSSL counts bytes in an `int`.
const MAX_PIECE: usize = 1 << 30;

type Init = fn(&mut CipherCtxRef, Option<&CipherRef>, Option<&[u8]>, Option<&[u8]>) -> Result<(), ErrorStack>;

/// The whole of the data through the cipher, appended to `out`.
fn run(context: &mut CipherCtxRef, data: &[u8], out: &mut Vec<u8>) -> Result<(), CryptoError> {
    for piece in data.chunks(MAX_PIECE) {
        context.cipher_update_vec(piece, out)?;
    }
    context.cipher_final_vec(out)?;
    Ok(())
}

/// A mode of AES, or the one cipher that is not AES.
#[derive(Clone, Copy)]
enum Mode {
    Cbc,
    Ctr,
    Gcm,
    Ocb,
    Wrap,
    ChaCha20Poly1305,
}

impl Mode {
    fn cipher(self, key: &[u8]) -> Result<&'static CipherRef, CryptoError> {
        Ok(match (self, key.len()) {
            (Self::Cbc, 16) => OpensslCipher::aes_128_cbc(),
            (Self::Cbc, 24) => OpensslCipher::aes_192_cbc(),
            (Self::Cbc, 32) => OpensslCipher::aes_256_cbc(),
            (Self::Ctr, 16) => OpensslCipher::aes_128_ctr(),
            (Self::Ctr, 24) => OpensslCipher::aes_192_ctr(),
            (Self::Ctr, 32) => OpensslCipher::aes_256_ctr(),
            (Self::Gcm, 16) => OpensslCipher::aes_128_gcm(),
            (Self::Gcm, 24) => OpensslCipher::aes_192_gcm(),
            (Self::Gcm, 32) => OpensslCipher::aes_256_gcm(),
            (Self::Ocb, 16) => OpensslCipher::aes_128_ocb(),
            (Self::Ocb, 24) => OpensslCipher::aes_192_ocb(),
            (Self::Ocb, 32) => OpensslCipher::aes_256_ocb(),
            (Self::Wrap, 16) => OpensslCipher::aes_128_wrap(),
            (Self::Wrap, 24) => OpensslCipher::aes_192_wrap(),
            (Self::Wrap, 32) => OpensslCipher::aes_256_wrap(),
            (Self::ChaCha20Poly1305, 32) => OpensslCipher::chacha20_poly1305(),
            _ => return Err(CryptoError::data(format!("no key of this cipher has {} bits", key.len() * 8))),
        })
    }
}

fn cbc(key: &[u8], iv: &[u8], data: &[u8], init: Init) -> Result<Vec<u8>, CryptoError> {
    if iv.len() != BLOCK {
        return Err(CryptoError::operation("the initialization vector of AES-CBC has 16 bytes"));
    }
    let mut context = CipherCtx::new()?;
    init(&mut context, Some(Mode::Cbc.cipher(key)?), Some(key), Some(iv))?;
    let mut out = Vec::with_capacity(data.len() + BLOCK);
    run(&mut context, data, &mut out)?;
    Ok(out)
}

/// Encryption and decryption are the same. OpenSSL counts with all 128 bits, the standard with the last `length`: where these
/// overflow within the data, what follows is a second message whose counter has zeros there.
fn ctr(key: &[u8], counter: &[u8], length: u32, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let block: [u8; BLOCK] =
        counter.try_into().map_err(|_| CryptoError::operation("the counter of AES-CTR has 16 bytes"))?;
    if length == 0 || length > 128 {
        return Err(CryptoError::operation("the counter of AES-CTR has a length of 1 to 128 bits"));
    }
    let block = u128::from_be_bytes(block);
    let mask = if length == 128 { u128::MAX } else { (1 << length) - 1 };
    let blocks = data.len().div_ceil(BLOCK) as u128;
    if blocks != 0 && blocks - 1 > mask {
        return Err(CryptoError::operation("the data is too long: the counter of AES-CTR would repeat"));
    }
    // One less than the blocks before the overflow, which may be 2^128.
    let before = mask - (block & mask);
    let split = match usize::try_from(before).ok().and_then(|before| before.checked_add(1)?.checked_mul(BLOCK)) {
        Some(bytes) if bytes < data.len() => bytes,
        _ => data.len(),
    };
    let mut out = Vec::with_capacity(data.len() + BLOCK);
    for (part, block) in [(&data[..split], block), (&data[split..], block & !mask)] {
        if !part.is_empty() {
            let mut context = CipherCtx::new()?;
            context.encrypt_init(Some(Mode::Ctr.cipher(key)?), Some(key), Some(&block.to_be_bytes()))?;
            run(&mut context, part, &mut out)?;
        }
    }
    Ok(out)
}

impl Aead {
    /// A context that has everything but the data; `tag` is what decryption demands.
    fn context(&self, mode: Mode, key: &[u8], init: Init, tag: Option<&[u8]>) -> Result<CipherCtx, CryptoError> {
        let cipher = mode.cipher(key)?;
        let mut context = CipherCtx::new()?;
        init(&mut context, Some(cipher), None, None)?;
        context.set_iv_length(self.iv.len())?;
        if let Mode::Ocb = mode {
            // The tag's length is part of what OCB computes.
            context.set_tag_length(self.tag_bytes)?;
        }
        if let Some(tag) = tag {
            context.set_tag(tag)?;
        }
        init(&mut context, None, Some(key), Some(&self.iv))?;
        for piece in self.additional_data.chunks(MAX_PIECE) {
            context.cipher_update(piece, None)?;
        }
        Ok(context)
    }

    fn encrypt(&self, mode: Mode, key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let mut context = self.context(mode, key, CipherCtxRef::encrypt_init, None)?;
        let mut out = Vec::with_capacity(data.len() + BLOCK + self.tag_bytes);
        run(&mut context, data, &mut out)?;
        let end = out.len();
        out.resize(end + self.tag_bytes, 0);
        context.tag(&mut out[end..])?;
        Ok(out)
    }

    fn decrypt(&self, mode: Mode, key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let Some(end) = data.len().checked_sub(self.tag_bytes) else {
            return Err(CryptoError::operation("the data is shorter than the tag"));
        };
        let (data, tag) = data.split_at(end);
        let mut context = self.context(mode, key, CipherCtxRef::decrypt_init, Some(tag))?;
        let mut out = Vec::with_capacity(data.len() + BLOCK);
        run(&mut context, data, &mut out)?;
        Ok(out)
    }
}

/// AES-KW of RFC 3394.
pub(crate) fn wrap(key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    if !data.len().is_multiple_of(8) || data.len() < 16 {
        return Err(CryptoError::operation("AES-KW wraps at least 16 bytes, and a multiple of 8"));
    }
    key_wrap(key, data, CipherCtxRef::encrypt_init)
}

pub(crate) fn unwrap(key: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    if !data.len().is_multiple_of(8) || data.len() < 24 {
        return Err(CryptoError::operation("what AES-KW has wrapped has at least 24 bytes, and a multiple of 8"));
    }
    key_wrap(key, data, CipherCtxRef::decrypt_init)
}

fn key_wrap(key: &[u8], data: &[u8], init: Init) -> Result<Vec<u8>, CryptoError> {
    let mut context = CipherCtx::new()?;
    context.set_flags(CipherCtxFlags::FLAG_WRAP_ALLOW);
    init(&mut context, Some(Mode::Wrap.cipher(key)?), Some(key), None)?;
    let mut out = Vec::with_capacity(data.len() + 2 * BLOCK);
    run(&mut context, data, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Aead, Cipher, unwrap, wrap};

    fn aead(iv: Vec<u8>, tag_bytes: usize) -> Aead {
        Aead { iv, additional_data: b"head".to_vec(), tag_bytes }
    }

    #[test]
    fn a_counter_that_overflows_goes_on_at_zero() {
        // With a counter of 8 bits at 255, the second block has the counter 0, and the rest of the block stays.
        let mut counter = vec![7; 16];
        counter[15] = 255;
        let both = Cipher::Ctr { counter: counter.clone(), length: 8 }.encrypt(&[1; 16], &[0; 32]).unwrap();
        counter[15] = 0;
        let second = Cipher::Ctr { counter, length: 8 }.encrypt(&[1; 16], &[0; 16]).unwrap();
        assert_eq!(both[16..], second);
    }

    #[test]
    fn a_counter_never_repeats() {
        let cipher = Cipher::Ctr { counter: vec![0; 16], length: 2 };
        assert!(cipher.encrypt(&[1; 16], &[0; 64]).is_ok());
        assert_eq!(cipher.encrypt(&[1; 16], &[0; 65]).unwrap_err().name(), "OperationError");
    }

    #[test]
    fn a_key_is_wrapped_as_in_rfc_3394() {
        let key: Vec<u8> = (0..16).collect();
        let data: Vec<u8> = (0..16).map(|byte| byte * 0x11).collect();
        let wrapped = wrap(&key, &data).unwrap();
        assert_eq!(wrapped[..8], [0x1f, 0xa6, 0x8b, 0x0a, 0x81, 0x12, 0xb4, 0x47]);
        assert_eq!(unwrap(&key, &wrapped).unwrap(), data);
        assert!(unwrap(&[9; 16], &wrapped).is_err());
        assert!(wrap(&key, &[0; 15]).is_err());
        assert!(unwrap(&key, &[0; 16]).is_err());
    }

    #[test]
    fn keys_of_other_lengths_are_refused() {
        for length in [0, 15, 17, 33] {
            let key = vec![0; length];
            assert_eq!(Cipher::Gcm(aead(vec![0; 12], 16)).encrypt(&key, b"").unwrap_err().name(), "DataError");
        }
        assert!(Cipher::ChaCha20Poly1305(aead(vec![0; 12], 16)).encrypt(&[0; 16], b"").is_err());
    }

    #[test]
    fn what_was_changed_is_refused() {
        for cipher in [Cipher::Gcm(aead(vec![1; 12], 16)), Cipher::Ocb(aead(vec![1; 12], 16))] {
            let mut sealed = cipher.encrypt(&[5; 32], b"some text").unwrap();
            sealed[3] ^= 1;
            assert_eq!(cipher.decrypt(&[5; 32], &sealed).unwrap_err().name(), "OperationError");
            assert!(cipher.decrypt(&[5; 32], &sealed[..15]).is_err());
        }
    }

    proptest! {
        #[test]
        fn what_is_encrypted_can_be_decrypted(
            data in proptest::collection::vec(any::<u8>(), 0..300),
            counter in proptest::collection::vec(any::<u8>(), 16),
            length in 8u32..=128,
            iv in proptest::collection::vec(any::<u8>(), 1..64),
            key in prop_oneof![Just(16usize), Just(24), Just(32)],
            tag_bytes in prop_oneof![Just(4usize), Just(8), Just(12), Just(13), Just(16)],
        ) {
            let key = vec![0x42; key];
            let ciphers = [
                Cipher::Cbc { iv: counter.clone() },
                Cipher::Ctr { counter, length },
                Cipher::Gcm(aead(iv, tag_bytes)),
                Cipher::Ocb(aead(vec![3; 15], tag_bytes)),
            ];
            for cipher in ciphers {
                let sealed = cipher.encrypt(&key, &data).unwrap();
                prop_assert_eq!(cipher.decrypt(&key, &sealed).unwrap(), data.clone());
            }
        }
    }
}
