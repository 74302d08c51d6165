//! Keys from PEM and DER, in all the forms that Node takes.

use openssl::ec::EcKey;
use openssl::error::ErrorStack;
use openssl::pkey::{HasPublic, Id, PKey, Private, Public};
use openssl::rsa::Rsa;
use openssl::x509::X509;

use super::{NodeError, Result, der, pem};
use crate::key::{CryptoKey, KeyKind};
use crate::{CryptoError, Curve, OkpCurve, ec, rsa};

/// A key as text or bytes, and what is said of it.
#[derive(Clone, Debug)]
pub struct KeyText {
    pub data: Vec<u8>,
    /// PEM; else DER.
    pub pem: bool,
    /// DER: `spki`, `pkcs1`, `pkcs8` or `sec1`; empty where nothing is said.
    pub form: String,
    pub passphrase: Option<Vec<u8>>,
}

/// What an encrypted key may demand of its password: rounds of PBKDF2, or the product of scrypt's numbers. It is a second of
/// CPU time.
const MAX_ROUNDS: u64 = 2_000_000;
const MAX_KEY_TEXT: usize = 1 << 20;
/// Bytes of a key whose numbers are not seen before OpenSSL computes with them: what holds RSA keys of 8192 bits.
const MAX_SEALED_KEY: usize = 5632;
const SCRYPT: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b];
const PRIVATE_LABELS: &[&str] =
    &["PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"];
/// Larger keys take minutes.
const MAX_KEY_BITS: u32 = 16384;

pub fn read_private(text: &KeyText) -> std::result::Result<CryptoKey, CryptoError> {
    let key = private(text)?;
    check(&key)?;
    Ok(CryptoKey::private(kind_of(&key), key))
}

/// A public key, or the public half of a certificate's or a private key.
pub fn read_public(text: &KeyText) -> std::result::Result<CryptoKey, CryptoError> {
    let key = public(text)?;
    check(&key)?;
    Ok(CryptoKey::public(kind_of(&key), key))
}

/// Which of Web Cryptography's kinds it is.
pub(super) fn kind_of<T: HasPublic>(key: &PKey<T>) -> KeyKind {
    if key.id() == Id::RSA {
        return KeyKind::Rsa;
    }
    let ec = Curve::ALL.into_iter().find(|curve| key.id() == Id::EC && ec::is_on(key, *curve)).map(KeyKind::Ec);
    let okp = OkpCurve::ALL.into_iter().find(|curve| key.id() == curve.id()).map(KeyKind::Okp);
    ec.or(okp).unwrap_or(KeyKind::Other)
}

/// Refuses what OpenSSL would compute with for minutes, or fail at later.
fn check<T: HasPublic>(key: &PKey<T>) -> Result<()> {
    let grows = matches!(key.id(), Id::RSA | Id::RSA_PSS | Id::DSA | Id::DH | Id::DHX);
    if grows && key.bits() > MAX_KEY_BITS {
        return Err(NodeError::plain(format_args!("the key has more than {MAX_KEY_BITS} bits")));
    }
    if let Ok(key) = key.rsa()
        && !rsa::is_usable(key.n(), key.e())
    {
        return Err(NodeError::plain("the numbers of the key are those of no RSA key"));
    }
    Ok(())
}

fn check_size(text: &KeyText) -> Result<()> {
    if text.data.len() > MAX_KEY_TEXT {
        return Err(NodeError::plain("the text of the key is longer than 1 MB"));
    }
    Ok(())
}

fn private(text: &KeyText) -> Result<PKey<Private>> {
    check_size(text)?;
    if text.pem {
        return private_pem(&text.data, text.passphrase.as_deref());
    }
    let data = bounded(&text.data)?;
    match text.form.as_str() {
        "pkcs1" => Ok(PKey::from_rsa(Rsa::private_key_from_der(data)?)?),
        "sec1" => Ok(PKey::from_ec_key(EcKey::private_key_from_der(data)?)?),
        _ => pkcs8_der(data, text.passphrase.as_deref()),
    }
}

fn pkcs8_der(data: &[u8], passphrase: Option<&[u8]>) -> Result<PKey<Private>> {
    // An encrypted key begins with the algorithm, a plain one with its version.
    let encrypted = der::expect(data, der::SEQUENCE)
        .and_then(|(content, _)| der::element(content))
        .is_some_and(|(tag, ..)| tag == der::SEQUENCE);
    if !encrypted {
        return Ok(PKey::private_key_from_pkcs8(data)?);
    }
    check_rounds(data)?;
    with_passphrase(passphrase, |callback| PKey::private_key_from_pkcs8_callback(data, callback))
}

fn private_pem(data: &[u8], passphrase: Option<&[u8]>) -> Result<PKey<Private>> {
    let text = match pem::find(data, PRIVATE_LABELS) {
        Some(block) => {
            if block.is_pkcs8() && block.is_sealed() {
                check_rounds(bounded(&block.der)?)?;
            } else if block.is_sealed() {
                check_sealed_size(&block.der)?;
            } else {
                bounded(&block.der)?;
            }
            block.to_text()
        }
        // OpenSSL says what is missing.
        None => Vec::new(),
    };
    with_passphrase(passphrase, |callback| PKey::private_key_from_pem_callback(&text, callback))
}

/// The key that the data begin with. What is not written in DER is for OpenSSL to tell: it gets none of it.
fn bounded(data: &[u8]) -> Result<&[u8]> {
    if der::element(data).is_none() {
        return Ok(&[]);
    }
    der::bounded_key(data).ok_or_else(|| NodeError::plain("the key is too large, or not written in DER"))
}

fn check_sealed_size(data: &[u8]) -> Result<()> {
    if data.len() > MAX_SEALED_KEY {
        return Err(NodeError::plain(format_args!("the encrypted key is longer than {MAX_SEALED_KEY} bytes")));
    }
    Ok(())
}

/// The callback is there even where no passphrase is: without one, OpenSSL would ask a terminal.
fn with_passphrase(
    passphrase: Option<&[u8]>,
    read: impl FnOnce(
        &mut dyn FnMut(&mut [u8]) -> std::result::Result<usize, ErrorStack>,
    ) -> std::result::Result<PKey<Private>, ErrorStack>,
) -> Result<PKey<Private>> {
    let (mut asked, mut too_long) = (false, false);
    let mut callback = |buffer: &mut [u8]| {
        asked = true;
        match passphrase {
            Some(given) if given.len() <= buffer.len() => {
                buffer[..given.len()].copy_from_slice(given);
                Ok(given.len())
            }
            Some(_) => {
                too_long = true;
                Ok(0)
            }
            None => Ok(0),
        }
    };
    let key = read(&mut callback);
    if asked && passphrase.is_none() {
        return Err(NodeError::coded("ERR_MISSING_PASSPHRASE", "Passphrase required for encrypted key"));
    }
    if too_long {
        return Err(NodeError::plain("the passphrase is too long"));
    }
    Ok(key?)
}

/// Refuses also what cannot be followed.
fn check_rounds(data: &[u8]) -> Result<()> {
    check_sealed_size(data)?;
    let algorithm = der::expect(data, der::SEQUENCE).and_then(|(content, _)| der::expect(content, der::SEQUENCE));
    let rounds =
        algorithm.and_then(|(content, _)| Some(der::largest_integer(content, 8)?.max(scrypt_cost(content, 8)?)));
    if rounds.is_none_or(|rounds| rounds > MAX_ROUNDS) {
        return Err(NodeError::plain(format_args!("the key's password has more than {MAX_ROUNDS} rounds")));
    }
    Ok(())
}

/// The product of the first three numbers after scrypt's name, wherever it is.
fn scrypt_cost(data: &[u8], depth: u32) -> Option<u64> {
    let (mut rest, mut cost, mut named) = (data, 0, false);
    while !rest.is_empty() {
        let (tag, content, next) = der::element(rest)?;
        if named && tag == der::SEQUENCE {
            cost = cost.max(product_of_three(content)?);
        } else if tag & 0x20 != 0 {
            cost = cost.max(scrypt_cost(content, depth.checked_sub(1)?)?);
        }
        named = tag == der::OBJECT && content == SCRYPT;
        rest = next;
    }
    Some(cost)
}

fn product_of_three(data: &[u8]) -> Option<u64> {
    let (mut rest, mut product, mut found) = (data, 1u64, 0);
    while found < 3 {
        let (tag, content, next) = der::element(rest)?;
        if tag == der::INTEGER {
            product = product.saturating_mul(der::number(content));
            found += 1;
        }
        rest = next;
    }
    Some(product)
}

fn public(text: &KeyText) -> Result<PKey<Public>> {
    check_size(text)?;
    let data = &text.data;
    if text.pem {
        let block = |label: &'static str| match pem::find(data, &[label]) {
            Some(block) => {
                bounded(&block.der)?;
                Ok::<_, NodeError>(Some(block.to_text()))
            }
            None => Ok(None),
        };
        if let Some(block) = block("PUBLIC KEY")? {
            return Ok(PKey::public_key_from_pem(&block)?);
        }
        if let Some(block) = block("RSA PUBLIC KEY")? {
            return Ok(PKey::from_rsa(Rsa::public_key_from_pem_pkcs1(&block)?)?);
        }
        let begin = b"-----BEGIN CERTIFICATE-----";
        return if data.windows(begin.len()).any(|part| part == begin) {
            Ok(X509::from_pem(data)?.public_key()?)
        } else {
            public_half(&private(text)?)
        };
    }
    match text.form.as_str() {
        "spki" => Ok(PKey::public_key_from_der(bounded(data)?)?),
        // The two have other versions: what is no public key may be a private one.
        "pkcs1" => match Rsa::public_key_from_der_pkcs1(bounded(data)?) {
            Ok(key) => Ok(PKey::from_rsa(key)?),
            Err(error) => match private(text) {
                Ok(key) => public_half(&key),
                Err(_) => Err(error.into()),
            },
        },
        _ => public_half(&private(text)?),
    }
}

pub(super) fn public_half(key: &PKey<Private>) -> Result<PKey<Public>> {
    Ok(PKey::public_key_from_der(&key.public_key_to_der()?)?)
}
