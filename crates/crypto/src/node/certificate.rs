//! X.509 certificates: their fields as Node gives them.

use std::net::IpAddr;

use openssl::x509::{X509, X509NameRef, X509VerifyResult};

use super::{NodeError, Result, der, read};
use crate::{CryptoError, CryptoKey};

const MAX_BYTES: usize = 1 << 20;

pub struct X509Certificate(X509);

/// Lists of names are (kind, value).
#[derive(Clone, Debug, Default)]
pub struct CertificateFields {
    pub subject: Vec<(String, String)>,
    pub issuer: Vec<(String, String)>,
    /// `DNS`, `IP Address`, `email`, `URI`, `DirName`, `Registered ID`, `othername`.
    pub alternative_names: Vec<(&'static str, String)>,
    /// (`OCSP - URI`, address)
    pub info_access: Vec<(String, String)>,
    /// Object identifiers.
    pub extended_usages: Vec<String>,
    pub serial_number: String,
    pub valid_from: String,
    pub valid_to: String,
    pub is_ca: bool,
    pub signature_algorithm: String,
    pub signature_algorithm_oid: String,
}

const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const INFO_ACCESS: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x01];

impl X509Certificate {
    /// The first certificate of a PEM text, or one in DER.
    pub fn read(data: &[u8]) -> std::result::Result<Self, CryptoError> {
        let read = || {
            if data.len() > MAX_BYTES {
                return Err(NodeError::plain("the certificate is longer than 1 MB"));
            }
            let pem = data.windows(5).any(|part| part == b"-----");
            Ok(Self(if pem { X509::from_pem(data)? } else { X509::from_der(data)? }))
        };
        Ok(read()?)
    }

    pub fn to_der(&self) -> std::result::Result<Vec<u8>, CryptoError> {
        Ok(self.0.to_der().map_err(NodeError::from)?)
    }

    pub fn to_pem(&self) -> std::result::Result<Vec<u8>, CryptoError> {
        Ok(self.0.to_pem().map_err(NodeError::from)?)
    }

    pub fn public_key(&self) -> std::result::Result<CryptoKey, CryptoError> {
        let key = self.0.public_key().map_err(NodeError::from)?;
        Ok(CryptoKey::public(read::kind_of(&key), key))
    }

    pub fn was_issued_by(&self, issuer: &Self) -> bool {
        issuer.0.issued(&self.0) == X509VerifyResult::OK
    }

    /// Whether the key is the one of its signature.
    pub fn is_signed_by(&self, key: &CryptoKey) -> std::result::Result<bool, CryptoError> {
        Ok(self.0.verify(&*key.to_public()?).unwrap_or(false))
    }

    pub fn belongs_to(&self, private: &CryptoKey) -> std::result::Result<bool, CryptoError> {
        let key = self.0.public_key().map_err(NodeError::from)?;
        Ok(key.public_eq(&*private.to_public()?))
    }

    pub fn fields(&self) -> std::result::Result<CertificateFields, CryptoError> {
        Ok(self.describe()?)
    }

    fn describe(&self) -> Result<CertificateFields> {
        let bytes = self.0.to_der()?;
        let extension = |oid| extension(&bytes, oid);
        let algorithm = self.0.signature_algorithm().object();
        Ok(CertificateFields {
            subject: entries(self.0.subject_name()),
            issuer: entries(self.0.issuer_name()),
            alternative_names: extension(ALTERNATIVE_NAME).map(general_names).unwrap_or_default(),
            info_access: extension(INFO_ACCESS).map(info_access).unwrap_or_default(),
            extended_usages: extension(EXTENDED_USAGE).map(object_ids).unwrap_or_default(),
            serial_number: self.0.serial_number().to_bn()?.to_hex_str()?.to_string(),
            valid_from: self.0.not_before().to_string(),
            valid_to: self.0.not_after().to_string(),
            is_ca: extension(BASIC_CONSTRAINTS).is_some_and(is_ca),
            signature_algorithm: algorithm.nid().long_name().unwrap_or("").to_owned(),
            signature_algorithm_oid: algorithm_id(&bytes).unwrap_or_default(),
        })
    }
}

/// The object identifier of the signature's algorithm.
fn algorithm_id(certificate: &[u8]) -> Option<String> {
    let (certificate, _) = der::expect(certificate, der::SEQUENCE)?;
    let (_, rest) = der::expect(certificate, der::SEQUENCE)?;
    let (algorithm, _) = der::expect(rest, der::SEQUENCE)?;
    der::expect(algorithm, der::OBJECT).map(|(id, _)| dotted(id))
}

fn entries(name: &X509NameRef) -> Vec<(String, String)> {
    let entry = |entry: &openssl::x509::X509NameEntryRef| {
        let object = entry.object();
        let key = object.nid().short_name().ok().filter(|name| *name != "UNDEF").map(str::to_owned);
        let value = entry.data().to_string().unwrap_or_default();
        (key.unwrap_or_else(|| object.to_string()), value)
    };
    name.entries().map(entry).collect()
}

/// The value of an extension of a certificate in DER.
fn extension<'a>(certificate: &'a [u8], oid: &[u8]) -> Option<&'a [u8]> {
    let (certificate, _) = der::expect(certificate, der::SEQUENCE)?;
    let (mut fields, _) = der::expect(certificate, der::SEQUENCE)?;
    let extensions = loop {
        let (tag, content, rest) = der::element(fields)?;
        if tag == 0xa3 {
            break content;
        }
        fields = rest;
    };
    let (mut list, _) = der::expect(extensions, der::SEQUENCE)?;
    while let Some((content, rest)) = der::expect(list, der::SEQUENCE) {
        list = rest;
        let (found, mut value) = der::expect(content, der::OBJECT)?;
        if found == oid {
            // Before the value there may be whether it is critical.
            if let Some((0x01, _, rest)) = der::element(value) {
                value = rest;
            }
            return der::expect(value, der::OCTET_STRING).map(|(value, _)| value);
        }
    }
    None
}

fn is_ca(value: &[u8]) -> bool {
    let first = der::expect(value, der::SEQUENCE).and_then(|(content, _)| der::element(content));
    matches!(first, Some((0x01, [flag], _)) if *flag != 0)
}

fn object_ids(value: &[u8]) -> Vec<String> {
    let Some((mut list, _)) = der::expect(value, der::SEQUENCE) else { return Vec::new() };
    let mut ids = Vec::new();
    while let Some((id, rest)) = der::expect(list, der::OBJECT) {
        ids.push(dotted(id));
        list = rest;
    }
    ids
}

fn info_access(value: &[u8]) -> Vec<(String, String)> {
    let Some((mut list, _)) = der::expect(value, der::SEQUENCE) else { return Vec::new() };
    let mut found = Vec::new();
    while let Some((content, rest)) = der::expect(list, der::SEQUENCE) {
        list = rest;
        let Some((method, location)) = der::expect(content, der::OBJECT) else { continue };
        let method = match dotted(method).as_str() {
            "1.3.6.1.5.5.7.48.1" => "OCSP".to_owned(),
            "1.3.6.1.5.5.7.48.2" => "CA Issuers".to_owned(),
            other => other.to_owned(),
        };
        if let Some((kind, value)) = der::element(location).and_then(|(tag, content, _)| general_name(tag, content)) {
            found.push((format!("{method} - {kind}"), value));
        }
    }
    found
}

fn general_names(value: &[u8]) -> Vec<(&'static str, String)> {
    let Some((mut list, _)) = der::expect(value, der::SEQUENCE) else { return Vec::new() };
    let mut names = Vec::new();
    while let Some((tag, content, rest)) = der::element(list) {
        list = rest;
        names.extend(general_name(tag, content));
    }
    names
}

fn general_name(tag: u8, content: &[u8]) -> Option<(&'static str, String)> {
    let text = || content.iter().map(|byte| char::from(*byte)).collect::<String>();
    Some(match tag {
        0x81 => ("email", text()),
        0x82 => ("DNS", text()),
        0x86 => ("URI", text()),
        0x87 => ("IP Address", address(content)),
        0x88 => ("Registered ID", dotted(content)),
        0xa0 => ("othername", "<unsupported>".to_owned()),
        0xa4 => ("DirName", directory_name(content)),
        _ => return None,
    })
}

/// As OpenSSL writes them: without the short form of zeros.
fn address(bytes: &[u8]) -> String {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return IpAddr::from(bytes).to_string();
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(bytes) => {
            let parts = bytes.chunks_exact(2).map(|pair| format!("{:X}", u16::from_be_bytes([pair[0], pair[1]])));
            parts.collect::<Vec<_>>().join(":")
        }
        Err(_) => "<invalid>".to_owned(),
    }
}

fn directory_name(content: &[u8]) -> String {
    let Some((mut list, _)) = der::expect(content, der::SEQUENCE) else { return String::new() };
    let mut parts = Vec::new();
    while let Some((set, rest)) = der::expect(list, 0x31) {
        list = rest;
        let Some((pair, _)) = der::expect(set, der::SEQUENCE) else { continue };
        let Some((oid, value)) = der::expect(pair, der::OBJECT) else { continue };
        let name = openssl::asn1::Asn1Object::from_str(&dotted(oid));
        let name =
            name.ok().and_then(|object| object.nid().short_name().ok()).map_or_else(|| dotted(oid), str::to_owned);
        let value = der::element(value).map(|(_, text, _)| String::from_utf8_lossy(text).into_owned());
        parts.push(format!("{name} = {}", value.unwrap_or_default()));
    }
    parts.join(", ")
}

/// `1.2.840.113549` of the bytes of an object identifier.
fn dotted(oid: &[u8]) -> String {
    let mut numbers: Vec<u64> = Vec::new();
    let mut value = 0u64;
    for byte in oid {
        value = value.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(value);
            value = 0;
        }
    }
    let Some((first, rest)) = numbers.split_first() else { return String::new() };
    let top = (*first / 40).min(2);
    let head = [top, first - 40 * top];
    head.iter().chain(rest).map(u64::to_string).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{X509Certificate, address, dotted, extension, general_names};

    #[test]
    fn object_identifiers_are_dotted() {
        assert_eq!(dotted(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b]), "1.2.840.113549.1.1.11");
        assert_eq!(dotted(&[0x55, 0x1d, 0x11]), "2.5.29.17");
        assert_eq!(dotted(&[]), "");
    }

    #[test]
    fn addresses_are_those_of_openssl() {
        assert_eq!(address(&[127, 0, 0, 1]), "127.0.0.1");
        assert_eq!(address(&[0; 16]), "0:0:0:0:0:0:0:0");
        assert_eq!(address(&[0; 3]), "<invalid>");
    }

    proptest! {
        #[test]
        fn garbage_is_no_certificate_and_no_panic(data in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(X509Certificate::read(&data).is_err());
            general_names(&data);
            extension(&data, &[0x55, 0x1d, 0x11]);
            dotted(&data);
        }
    }
}
