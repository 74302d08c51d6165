//! Encryption with RSA: publicEncrypt, privateDecrypt, privateEncrypt, publicDecrypt.

use openssl::encrypt::{Decrypter, Encrypter};
use openssl::pkey::{PKey, Public};
use openssl::rsa::Padding;

use super::{Digest, NodeError, Result};
use crate::CryptoKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaUse {
    PublicEncrypt,
    PrivateDecrypt,
    PrivateEncrypt,
    PublicDecrypt,
}

#[derive(Clone, Debug)]
pub struct RsaCipher {
    pub usage: RsaUse,
    /// OpenSSL's number: 1 is PKCS #1, 3 none, 4 OAEP.
    pub padding: i32,
    pub oaep_digest: Option<Digest>,
    pub oaep_label: Option<Vec<u8>>,
}

const OAEP: i32 = 4;

pub(super) fn run(cipher: &RsaCipher, key: &CryptoKey, data: &[u8]) -> Result<Vec<u8>> {
    let padding = Padding::from_raw(cipher.padding);
    match cipher.usage {
        RsaUse::PublicEncrypt => {
            let key = public(key)?;
            let mut encrypter = Encrypter::new(&key)?;
            encrypter.set_rsa_padding(padding)?;
            if cipher.padding == OAEP {
                let digest = oaep(cipher)?;
                encrypter.set_rsa_oaep_md(digest.0)?;
                if let Some(label) = cipher.oaep_label.as_deref().filter(|label| !label.is_empty()) {
                    encrypter.set_rsa_oaep_label(label)?;
                }
            }
            let mut out = vec![0; encrypter.encrypt_len(data)?];
            let length = encrypter.encrypt(data, &mut out)?;
            out.truncate(length);
            Ok(out)
        }
        RsaUse::PrivateDecrypt => {
            let (_, key) = key.private_key()?;
            let mut decrypter = Decrypter::new(key)?;
            decrypter.set_rsa_padding(padding)?;
            if cipher.padding == OAEP {
                let digest = oaep(cipher)?;
                decrypter.set_rsa_oaep_md(digest.0)?;
                if let Some(label) = cipher.oaep_label.as_deref().filter(|label| !label.is_empty()) {
                    decrypter.set_rsa_oaep_label(label)?;
                }
            }
            let mut out = vec![0; decrypter.decrypt_len(data)?];
            let length = decrypter.decrypt(data, &mut out)?;
            out.truncate(length);
            Ok(out)
        }
        RsaUse::PrivateEncrypt => {
            let rsa = key.private_key()?.1.rsa()?;
            let mut out = vec![0; rsa.size() as usize];
            check_input(data, rsa.size())?;
            let length = rsa.private_encrypt(data, &mut out, padding)?;
            out.truncate(length);
            Ok(out)
        }
        RsaUse::PublicDecrypt => {
            let rsa = public(key)?.rsa()?;
            let mut out = vec![0; rsa.size() as usize];
            check_input(data, rsa.size())?;
            let length = rsa.public_decrypt(data, &mut out, padding)?;
            out.truncate(length);
            Ok(out)
        }
    }
}

fn oaep(cipher: &RsaCipher) -> Result<Digest> {
    match cipher.oaep_digest {
        Some(digest) => Ok(digest),
        None => Ok(Digest::required("sha1")?),
    }
}

fn public(key: &CryptoKey) -> Result<PKey<Public>> {
    Ok(key.to_public()?)
}

/// The crate's functions for these two panic where a length does not fit an `int`.
fn check_input(data: &[u8], bytes: u32) -> Result<()> {
    if data.len() > bytes as usize {
        return Err(NodeError::plain("error:0200006E:rsa routines::data too large for key size"));
    }
    Ok(())
}
