//! Ciphers that are fed piece by piece: all that OpenSSL's default provider has by name.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::{CipherCtx, CipherCtxFlags};

use super::{NodeError, Result};
use crate::CryptoError;

/// Names as `getCiphers` gives them.
const NAMES: &[&str] = &[
    "aes-128-cbc",
    "aes-128-ccm",
    "aes-128-cfb",
    "aes-128-cfb1",
    "aes-128-cfb8",
    "aes-128-ctr",
    "aes-128-ecb",
    "aes-128-gcm",
    "aes-128-ocb",
    "aes-128-ofb",
    "aes-128-xts",
    "aes-192-cbc",
    "aes-192-ccm",
    "aes-192-cfb",
    "aes-192-cfb1",
    "aes-192-cfb8",
    "aes-192-ctr",
    "aes-192-ecb",
    "aes-192-gcm",
    "aes-192-ocb",
    "aes-192-ofb",
    "aes-256-cbc",
    "aes-256-ccm",
    "aes-256-cfb",
    "aes-256-cfb1",
    "aes-256-cfb8",
    "aes-256-ctr",
    "aes-256-ecb",
    "aes-256-gcm",
    "aes-256-ocb",
    "aes-256-ofb",
    "aes-256-xts",
    "aes128",
    "aes128-wrap",
    "aes192",
    "aes192-wrap",
    "aes256",
    "aes256-wrap",
    "aria-128-cbc",
    "aria-128-ccm",
    "aria-128-cfb",
    "aria-128-ctr",
    "aria-128-ecb",
    "aria-128-gcm",
    "aria-128-ofb",
    "aria-192-cbc",
    "aria-192-ccm",
    "aria-192-cfb",
    "aria-192-ctr",
    "aria-192-ecb",
    "aria-192-gcm",
    "aria-192-ofb",
    "aria-256-cbc",
    "aria-256-ccm",
    "aria-256-cfb",
    "aria-256-ctr",
    "aria-256-ecb",
    "aria-256-gcm",
    "aria-256-ofb",
    "aria128",
    "aria192",
    "aria256",
    "camellia-128-cbc",
    "camellia-128-ctr",
    "camellia-128-ecb",
    "camellia-256-cbc",
    "chacha20",
    "chacha20-poly1305",
    "des-ede",
    "des-ede-cbc",
    "des-ede-cfb",
    "des-ede-ecb",
    "des-ede-ofb",
    "des-ede3",
    "des-ede3-cbc",
    "des-ede3-cfb",
    "des-ede3-cfb1",
    "des-ede3-cfb8",
    "des-ede3-ecb",
    "des-ede3-ofb",
    "des3",
    "des3-wrap",
    "id-aes128-CCM",
    "id-aes128-GCM",
    "id-aes128-wrap",
    "id-aes128-wrap-pad",
    "id-aes192-CCM",
    "id-aes192-GCM",
    "id-aes192-wrap",
    "id-aes192-wrap-pad",
    "id-aes256-CCM",
    "id-aes256-GCM",
    "id-aes256-wrap",
    "id-aes256-wrap-pad",
    "id-smime-alg-CMS3DESwrap",
    "sm4",
    "sm4-cbc",
    "sm4-cfb",
    "sm4-ctr",
    "sm4-ecb",
    "sm4-ofb",
];

/// OpenSSL counts bytes in an `int`.
const MAX_PIECE: usize = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CipherDirection {
    Encrypt,
    Decrypt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CipherInfo {
    /// The one that OpenSSL uses itself, in small letters.
    pub name: String,
    pub mode: &'static str,
    pub nid: i32,
    pub block_bytes: usize,
    pub iv_bytes: usize,
    pub key_bytes: usize,
}

pub fn cipher_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().filter(|name| Cipher::fetch(None, name, None).is_ok())
}

pub fn cipher_info(name: &str) -> Option<CipherInfo> {
    let (cipher, mode) = find(name)?;
    let known = cipher.nid().long_name().ok().filter(|known| *known != "undefined");
    Some(CipherInfo {
        name: known.unwrap_or(name).to_ascii_lowercase(),
        mode: mode.name(),
        nid: cipher.nid().as_raw(),
        block_bytes: cipher.block_size(),
        iv_bytes: cipher.iv_length(),
        key_bytes: cipher.key_length(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Cbc,
    Ccm,
    Cfb,
    Ctr,
    Ecb,
    Gcm,
    Ocb,
    Ofb,
    Poly1305,
    Stream,
    Wrap,
    Xts,
}

impl Mode {
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        match () {
            () if has("poly1305") => Self::Poly1305,
            () if has("chacha") => Self::Stream,
            () if has("wrap") => Self::Wrap,
            () if has("ccm") => Self::Ccm,
            () if has("gcm") => Self::Gcm,
            () if has("ocb") => Self::Ocb,
            () if has("xts") => Self::Xts,
            () if has("ctr") => Self::Ctr,
            () if has("cfb") => Self::Cfb,
            () if has("ofb") => Self::Ofb,
            () if has("ecb") || name == "des-ede" || name == "des-ede3" => Self::Ecb,
            () => Self::Cbc,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cbc => "cbc",
            Self::Ccm => "ccm",
            Self::Cfb => "cfb",
            Self::Ctr => "ctr",
            Self::Ecb => "ecb",
            Self::Gcm => "gcm",
            Self::Ocb => "ocb",
            Self::Ofb => "ofb",
            Self::Poly1305 | Self::Stream => "stream",
            Self::Wrap => "wrap",
            Self::Xts => "xts",
        }
    }

    fn authenticates(self) -> bool {
        matches!(self, Self::Ccm | Self::Gcm | Self::Ocb | Self::Poly1305)
    }
}

fn find(name: &str) -> Option<(Cipher, Mode)> {
    // A property query or a name of a digest is none of ours; the names are short words.
    let word = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let cipher = if word { Cipher::fetch(None, name, None).ok()? } else { return None };
    let mode = Mode::of(name);
    // Those that authenticate in a way of their own (SIV, CBC with HMAC) need calls that are not made here.
    let known = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    known.then_some((cipher, mode))
}

/// A cipher that is at work.
pub struct CipherState {
    context: CipherCtx,
    mode: Mode,
    direction: CipherDirection,
    /// Of the tag; none where it is not decided yet (GCM, decryption).
    tag_bytes: Option<usize>,
    has_tag: bool,
    tag: Vec<u8>,
    /// CCM fails where the text is decrypted; Node says so at the end.
    failed: bool,
    updated: bool,
    /// The longest text that CCM takes with this nonce.
    max_text: usize,
}

impl CipherState {
    /// No `iv` where the cipher has none. `tag_bytes` is for ciphers that authenticate.
    pub fn new(
        name: &str,
        direction: CipherDirection,
        key: &[u8],
        iv: Option<&[u8]>,
        tag_bytes: Option<usize>,
    ) -> std::result::Result<Self, CryptoError> {
        Ok(Self::create(name, direction, key, iv, tag_bytes)?)
    }

    fn create(
        name: &str,
        direction: CipherDirection,
        key: &[u8],
        iv: Option<&[u8]>,
        tag_bytes: Option<usize>,
    ) -> Result<Self> {
        let (cipher, mode) =
            find(name).ok_or_else(|| NodeError::coded("ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher"))?;
        if key.len() != cipher.key_length() {
            return Err(NodeError::coded("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length"));
        }
        let invalid_iv = || NodeError::coded("ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
        let wanted = cipher.iv_length();
        match iv {
            None if wanted != 0 => return Err(invalid_iv()),
            Some(iv) if !mode.authenticates() && iv.len() != wanted => return Err(invalid_iv()),
            Some(iv) if mode.authenticates() && iv.is_empty() => return Err(invalid_iv()),
            Some(iv) if mode == Mode::Poly1305 && iv.len() > 12 => return Err(invalid_iv()),
            _ => {}
        }
        let tag_bytes = checked_tag(name, mode, direction, tag_bytes)?;
        let mut context = CipherCtx::new()?;
        if mode == Mode::Wrap {
            context.set_flags(CipherCtxFlags::FLAG_WRAP_ALLOW);
        }
        let mut init = |cipher, key, iv| match direction {
            CipherDirection::Encrypt => context.encrypt_init(cipher, key, iv),
            CipherDirection::Decrypt => context.decrypt_init(cipher, key, iv),
        };
        let iv = iv.filter(|iv| !iv.is_empty());
        let mut max_text = usize::MAX;
        if mode.authenticates() {
            init(Some(&*cipher), None, None)?;
            let length = iv.map_or(0, <[u8]>::len);
            context.set_iv_length(length).map_err(|_| invalid_iv())?;
            if let (Mode::Ccm | Mode::Ocb, Some(bytes)) = (mode, tag_bytes) {
                context.set_tag_length(bytes)?;
            }
            if mode == Mode::Ccm {
                max_text = match length {
                    12 => (1 << 24) - 1,
                    13 => (1 << 16) - 1,
                    _ => i32::MAX as usize,
                };
            }
            match direction {
                CipherDirection::Encrypt => context.encrypt_init(None, Some(key), iv)?,
                CipherDirection::Decrypt => context.decrypt_init(None, Some(key), iv)?,
            }
        } else {
            init(Some(&*cipher), Some(key), iv)?;
        }
        let tag = Vec::new();
        Ok(Self { context, mode, direction, tag_bytes, has_tag: false, tag, failed: false, updated: false, max_text })
    }

    pub fn authenticates(&self) -> bool {
        self.mode.authenticates()
    }

    pub fn update(&mut self, data: &[u8]) -> std::result::Result<Vec<u8>, CryptoError> {
        Ok(self.feed(data)?)
    }

    fn feed(&mut self, data: &[u8]) -> Result<Vec<u8>> {
        if self.mode == Mode::Ccm {
            if data.len() > self.max_text {
                return Err(NodeError::coded("ERR_CRYPTO_INVALID_MESSAGELEN", "Invalid message length"));
            }
            if std::mem::replace(&mut self.updated, true)
                || (self.direction == CipherDirection::Decrypt && !self.has_tag)
            {
                return Err(NodeError::coded("ERR_CRYPTO_INVALID_STATE", "Invalid state for operation update"));
            }
        }
        let mut out = Vec::with_capacity(data.len() + 32);
        // CCM makes or checks its tag with the text, also with an empty one.
        let empty = (self.mode == Mode::Ccm && data.is_empty()).then_some(data);
        for piece in data.chunks(MAX_PIECE).chain(empty) {
            match self.context.cipher_update_vec(piece, &mut out) {
                Ok(_) => {}
                Err(_) if self.mode == Mode::Ccm && self.direction == CipherDirection::Decrypt => {
                    self.failed = true;
                    return Ok(Vec::new());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(out)
    }

    /// Whether it could be set: Node makes an error of its own of `false`.
    pub fn set_additional_data(
        &mut self,
        data: &[u8],
        text_bytes: Option<usize>,
    ) -> std::result::Result<bool, CryptoError> {
        Ok(self.feed_additional(data, text_bytes)?)
    }

    fn feed_additional(&mut self, data: &[u8], text_bytes: Option<usize>) -> Result<bool> {
        if !self.mode.authenticates() || data.len() > MAX_PIECE {
            return Ok(false);
        }
        if self.mode == Mode::Ccm {
            let Some(bytes) = text_bytes else {
                return Err(NodeError::coded(
                    "ERR_MISSING_ARGS",
                    "options.plaintextLength required for CCM mode with AAD",
                ));
            };
            if bytes > self.max_text {
                return Err(NodeError::coded("ERR_CRYPTO_INVALID_MESSAGELEN", "Invalid message length"));
            }
            self.context.set_data_len(bytes)?;
        }
        Ok(self.context.cipher_update(data, None).is_ok())
    }

    /// The tag that decryption demands.
    pub fn set_tag(&mut self, tag: &[u8]) -> std::result::Result<bool, CryptoError> {
        Ok(self.demand_tag(tag)?)
    }

    fn demand_tag(&mut self, tag: &[u8]) -> Result<bool> {
        if !self.mode.authenticates() || self.direction != CipherDirection::Decrypt || self.has_tag {
            return Ok(false);
        }
        let fits = self.tag_bytes.unwrap_or(16) == tag.len();
        if !fits {
            return Err(NodeError::coded(
                "ERR_CRYPTO_INVALID_AUTH_TAG",
                format_args!("Invalid authentication tag length: {}", tag.len()),
            ));
        }
        self.context.set_tag(tag)?;
        self.has_tag = true;
        Ok(true)
    }

    /// What encryption has made; none before the end.
    pub fn tag(&self) -> Option<&[u8]> {
        (!self.tag.is_empty()).then_some(&self.tag)
    }

    pub fn set_padding(&mut self, on: bool) {
        self.context.set_padding(on);
    }

    pub fn finish(&mut self) -> std::result::Result<Vec<u8>, CryptoError> {
        Ok(self.end()?)
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        let refused = || NodeError::plain("Unsupported state or unable to authenticate data");
        let (authenticates, decrypts) = (self.mode.authenticates(), self.direction == CipherDirection::Decrypt);
        if authenticates && decrypts && !self.has_tag {
            return Err(refused());
        }
        if self.mode == Mode::Ccm && decrypts && !self.updated {
            self.feed(&[])?;
        }
        if self.failed {
            return Err(refused());
        }
        let mut out = Vec::new();
        if self.mode != Mode::Ccm {
            match self.context.cipher_final_vec(&mut out) {
                Ok(_) => {}
                Err(_) if authenticates => return Err(refused()),
                Err(error) if error.errors().is_empty() => return Err(NodeError::plain("Unsupported state")),
                Err(error) => return Err(error.into()),
            }
        }
        if authenticates && !decrypts {
            let mut tag = vec![0; self.tag_bytes.unwrap_or(16)];
            self.context.tag(&mut tag)?;
            self.tag = tag;
        }
        Ok(out)
    }
}

fn is_gcm_tag(bytes: usize) -> bool {
    bytes == 4 || bytes == 8 || (12..=16).contains(&bytes)
}

fn checked_tag(name: &str, mode: Mode, direction: CipherDirection, bytes: Option<usize>) -> Result<Option<usize>> {
    let invalid = |bytes| {
        NodeError::coded("ERR_CRYPTO_INVALID_AUTH_TAG", format_args!("Invalid authentication tag length: {bytes}"))
    };
    match (mode, bytes) {
        (Mode::Gcm, Some(bytes)) if !is_gcm_tag(bytes) => Err(invalid(bytes)),
        (Mode::Gcm, None) => Ok((direction == CipherDirection::Encrypt).then_some(16)),
        (Mode::Poly1305, None) => Ok(Some(16)),
        (Mode::Ccm | Mode::Ocb, None) => {
            Err(NodeError::coded("ERR_CRYPTO_INVALID_AUTH_TAG", format_args!("authTagLength required for {name}")))
        }
        (Mode::Ccm, Some(bytes)) if !(4..=16).contains(&bytes) || bytes % 2 != 0 => Err(invalid(bytes)),
        (Mode::Ocb | Mode::Poly1305, Some(bytes)) if !(1..=16).contains(&bytes) => Err(invalid(bytes)),
        (mode, bytes) if mode.authenticates() => Ok(bytes),
        _ => Ok(None),
    }
}
