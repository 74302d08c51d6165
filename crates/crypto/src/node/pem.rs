//! PEM (RFC 7468), one block of it. OpenSSL looks for blocks by rules of its own: it is given nothing but the block that was
//! looked at here, written anew.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(super) struct Block {
    label: &'static str,
    /// `Proc-Type` and `DEK-Info` of RFC 1421, which keys of OpenSSL's own formats have when they are encrypted.
    headers: Vec<String>,
    pub der: Vec<u8>,
}

/// The first whole block with one of these labels.
pub(super) fn find(data: &[u8], labels: &[&'static str]) -> Option<Block> {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines();
    loop {
        let line = lines.next()?.trim_end();
        let begun = |label: &&&'static str| line == format!("-----BEGIN {label}-----");
        if let Some(label) = labels.iter().find(begun)
            && let Some(block) = block(label, lines.clone())
        {
            return Some(block);
        }
    }
}

fn block<'a>(label: &'static str, lines: impl Iterator<Item = &'a str>) -> Option<Block> {
    let end = format!("-----END {label}-----");
    let (mut headers, mut body) = (Vec::new(), String::new());
    for line in lines.map(str::trim) {
        if line == end {
            return Some(Block { label, headers, der: STANDARD.decode(body).ok()? });
        }
        if line.contains(':') {
            headers.push(line.to_owned());
        } else {
            body.extend(line.split_ascii_whitespace());
        }
    }
    None
}

impl Block {
    pub fn is_pkcs8(&self) -> bool {
        matches!(self.label, "PRIVATE KEY" | "ENCRYPTED PRIVATE KEY")
    }

    /// Whether what it holds cannot be seen without its password.
    pub fn is_sealed(&self) -> bool {
        self.label == "ENCRYPTED PRIVATE KEY" || !self.headers().is_empty()
    }

    /// PKCS #8 has an encryption of its own.
    fn headers(&self) -> &[String] {
        if self.is_pkcs8() { &[] } else { &self.headers }
    }

    pub fn to_text(&self) -> Vec<u8> {
        let body = STANDARD.encode(&self.der);
        let mut text = format!("-----BEGIN {}-----\n", self.label);
        for header in self.headers() {
            text += header;
            text.push('\n');
        }
        if !self.headers().is_empty() {
            text.push('\n');
        }
        for (at, digit) in body.chars().enumerate() {
            text.push(digit);
            if at % 64 == 63 {
                text.push('\n');
            }
        }
        if !body.len().is_multiple_of(64) {
            text.push('\n');
        }
        text += &format!("-----END {}-----\n", self.label);
        text.into_bytes()
    }
}
