//! Keys from PEM and DER, in all the forms that Node takes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::ec::EcKey;
use openssl::error::ErrorStack;
use openssl::pkey::{HasPublic, Id, PKey, Private, Public};
use openssl::rsa::Rsa;
use openssl::x509::X509;

use super::{NodeError, Result, der};
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

/// What an encrypted key may demand of its password: rounds of PBKDF2, or scrypt's numbers. It is a second of CPU time.
const MAX_ROUNDS: u64 = 2_000_000;
const MAX_KEY_TEXT: usize = 1 << 20;
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
    match text.form.as_str() {
        "pkcs1" => Ok(PKey::from_rsa(Rsa::private_key_from_der(&text.data)?)?),
        "sec1" => Ok(PKey::from_ec_key(EcKey::private_key_from_der(&text.data)?)?),
        _ => pkcs8_der(&text.data, text.passphrase.as_deref()),
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
    if let Some(der) = pem_body(data, "ENCRYPTED PRIVATE KEY") {
        check_rounds(&der)?;
    }
    with_passphrase(passphrase, |callback| PKey::private_key_from_pem_callback(data, callback))
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

fn check_rounds(data: &[u8]) -> Result<()> {
    let algorithm = der::expect(data, der::SEQUENCE).and_then(|(content, _)| der::expect(content, der::SEQUENCE));
    if algorithm.is_some_and(|(content, _)| der::largest_integer(content, 8) > MAX_ROUNDS) {
        return Err(NodeError::plain(format_args!("the key's password has more than {MAX_ROUNDS} rounds")));
    }
    Ok(())
}

/// What the first text of this kind holds.
fn pem_body(data: &[u8], label: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(data).ok()?;
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once("-----END")?;
    STANDARD.decode(body.split_ascii_whitespace().collect::<String>()).ok()
}

fn public(text: &KeyText) -> Result<PKey<Public>> {
    check_size(text)?;
    let data = &text.data;
    if text.pem {
        let has = |label: &str| {
            let begin = format!("-----BEGIN {label}-----");
            data.windows(begin.len()).any(|part| part == begin.as_bytes())
        };
        return match () {
            () if has("PUBLIC KEY") => Ok(PKey::public_key_from_pem(data)?),
            () if has("RSA PUBLIC KEY") => Ok(PKey::from_rsa(Rsa::public_key_from_pem_pkcs1(data)?)?),
            () if has("CERTIFICATE") => Ok(X509::from_pem(data)?.public_key()?),
            () => public_half(&private(text)?),
        };
    }
    match text.form.as_str() {
        "spki" => Ok(PKey::public_key_from_der(data)?),
        // The two have other versions: what is no public key may be a private one.
        "pkcs1" => match Rsa::public_key_from_der_pkcs1(data) {
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
