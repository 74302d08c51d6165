//! Precompressed variants beside a file (`app.js.br`), and the choice of one by `accept-encoding`.
//!
//! A variant that is clearly older than its file is stale and is not used. Links are not variants.

use std::time::Duration;

use hearth_core::Headers;

use crate::found_file::FoundFile;
use crate::mime::MimeType;

/// How much older than its file a variant may be: copying a folder gives its files new times in any
/// order.
const SLACK: Duration = Duration::from_secs(5);

/// In order of preference when the client has none.
const CODINGS: [VariantCoding; 3] = [VariantCoding::Brotli, VariantCoding::Zstd, VariantCoding::Gzip];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantCoding {
    Brotli,
    Zstd,
    Gzip,
}

/// What is sent for a file.
#[derive(Debug)]
pub enum Variant {
    /// The file; it has no variants.
    Only,
    /// The file, although it has variants; the response varies by encoding.
    Plain,
    Coded(VariantCoding, FoundFile),
}

/// Whether the client asks for a range. Ranges are served from the file itself, never from a
/// variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    Part,
}

pub fn choose(file: &FoundFile, media: MimeType, headers: &Headers, extent: Extent) -> Variant {
    if !media.is_compressible() {
        return Variant::Only;
    }
    let variants = CODINGS.map(|coding| {
        let variant = file.sibling(coding.ending());
        variant.filter(|variant| variant.identity.older_by(&file.identity) <= SLACK)
    });
    if variants.iter().all(Option::is_none) {
        return Variant::Only;
    }
    if extent == Extent::Part {
        return Variant::Plain;
    }
    let accepted = AcceptEncoding::read(headers);
    let mut best = (accepted.plain(), Variant::Plain);
    // The last of equals wins, and any coding wins over the plain file at equal weight.
    for (coding, variant) in CODINGS.into_iter().zip(variants).rev() {
        let Some(variant) = variant else { continue };
        let weight = accepted.weight(coding);
        if weight > 0 && weight >= best.0 {
            best = (weight, Variant::Coded(coding, variant));
        }
    }
    best.1
}

// === impl VariantCoding ===

impl VariantCoding {
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }
}

/// The weights of `accept-encoding` in thousandths, where given.
#[derive(Debug, Default)]
struct AcceptEncoding {
    brotli: Option<u16>,
    zstd: Option<u16>,
    gzip: Option<u16>,
    identity: Option<u16>,
    any: Option<u16>,
}

impl AcceptEncoding {
    fn read(headers: &Headers) -> Self {
        let mut accepted = Self::default();
        for item in headers.get_all("accept-encoding").flat_map(|value| value.split(|byte| *byte == b',')) {
            let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let place = match name.to_ascii_lowercase().as_slice() {
                b"br" => &mut accepted.brotli,
                b"zstd" => &mut accepted.zstd,
                b"gzip" | b"x-gzip" => &mut accepted.gzip,
                b"identity" => &mut accepted.identity,
                b"*" => &mut accepted.any,
                _ => continue,
            };
            // A malformed weight counts as 0.
            *place = Some(parts.next().map_or(Some(1000), thousandths).unwrap_or(0));
        }
        accepted
    }

    fn weight(&self, coding: VariantCoding) -> u16 {
        let own = match coding {
            VariantCoding::Brotli => self.brotli,
            VariantCoding::Zstd => self.zstd,
            VariantCoding::Gzip => self.gzip,
        };
        own.or(self.any).unwrap_or(0)
    }

    /// The plain file can always be sent, but is preferred only if the client names it.
    fn plain(&self) -> u16 {
        self.identity.unwrap_or(0)
    }
}

/// `q=0.5` (RFC 9110, section 12.4.2).
fn thousandths(text: &[u8]) -> Option<u16> {
    let (name, value) = text.split_at(text.iter().position(|byte| *byte == b'=')?);
    let value = value[1..].trim_ascii();
    let (whole, fraction) = match value {
        [whole @ (b'0' | b'1')] => (*whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', fraction @ ..] if fraction.len() <= 3 => (*whole, fraction),
        _ => return None,
    };
    if !name.trim_ascii().eq_ignore_ascii_case(b"q") || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| fraction.get(at).map_or(0, |digit| u16::from(digit - b'0'));
    let weight = u16::from(whole - b'0') * 1000 + digit(0) * 100 + digit(1) * 10 + digit(2);
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, File};
    use std::time::SystemTime;

    use super::*;
    use crate::folder::{Folder, Located};

    #[test]
    fn weights() {
        for (text, weight) in [
            ("q=1", Some(1000)),
            ("q=0", Some(0)),
            ("Q = 0.5", Some(500)),
            ("q=0.123", Some(123)),
            ("q=1.000", Some(1000)),
            ("q=0.", Some(0)),
            ("q=1.001", None),
            ("q=2", None),
            ("q=-1", None),
            ("q=0.1234", None),
            ("q=a", None),
            ("q=0.x", None),
            ("q", None),
            ("", None),
            ("level=1", None),
        ] {
            assert_eq!(thousandths(text.as_bytes()), weight, "{text}");
        }
    }

    struct Files {
        temp: tempfile::TempDir,
    }

    impl Files {
        fn new(names: &[&str]) -> Self {
            let files = Self { temp: tempfile::tempdir().unwrap() };
            names.iter().for_each(|name| fs::write(files.temp.path().join(name), name).unwrap());
            files
        }

        fn chosen(&self, name: &str, accept: &[&str], extent: Extent) -> &'static str {
            let folder = Folder::open(self.temp.path()).unwrap();
            let Located::File(found) = folder.walk().descend([name].into_iter()).unwrap() else {
                unreachable!("it is there")
            };
            let mut headers = Headers::new();
            accept.iter().for_each(|value| headers.push(b"accept-encoding", value.as_bytes()));
            match choose(&found, MimeType::from_name(name), &headers, extent) {
                Variant::Only => "only",
                Variant::Plain => "plain",
                Variant::Coded(coding, found) => {
                    assert!(found.name.to_str().unwrap().ends_with(coding.ending()));
                    coding.name()
                }
            }
        }
    }

    #[test]
    fn clients_choose_by_weight() {
        let files = Files::new(&["a.js", "a.js.br", "a.js.zst", "a.js.gz"]);
        for (accept, chosen) in [
            ("", "plain"),
            ("gzip", "gzip"),
            ("gzip, deflate, br, zstd", "br"),
            ("zstd, gzip", "zstd"),
            ("GZIP", "gzip"),
            ("x-gzip", "gzip"),
            ("br;q=0.5, gzip;q=0.8", "gzip"),
            ("br;q=0, gzip", "gzip"),
            ("br;q=0", "plain"),
            ("*", "br"),
            ("*;q=0.1, br;q=0", "zstd"),
            ("*;q=0", "plain"),
            ("identity", "plain"),
            ("identity, gzip;q=0.5", "plain"),
            ("identity;q=0.5, gzip", "gzip"),
            ("identity, gzip", "gzip"),
            ("identity;q=0, *;q=0", "plain"),
            ("deflate", "plain"),
            ("br;q=nonsense, gzip;q=0.2", "gzip"),
            (",, ;q=1,br ; q=1", "br"),
        ] {
            assert_eq!(files.chosen("a.js", &[accept], Extent::Whole), chosen, "{accept}");
        }
        assert_eq!(files.chosen("a.js", &[], Extent::Whole), "plain");
        assert_eq!(files.chosen("a.js", &["gzip;q=0.5", "br"], Extent::Whole), "br");
        assert_eq!(files.chosen("a.js", &["br"], Extent::Part), "plain");
    }

    #[test]
    fn variants_are_regular_files_that_are_not_stale() {
        let files = Files::new(&["a.js", "a.js.gz", "b.js", "c.png", "c.png.gz", "d.js", "e.js"]);
        assert_eq!(files.chosen("a.js", &["br, gzip"], Extent::Whole), "gzip");
        assert_eq!(files.chosen("b.js", &["br, gzip"], Extent::Whole), "only");
        assert_eq!(files.chosen("c.png", &["gzip"], Extent::Whole), "only");
        std::os::unix::fs::symlink("/etc/hostname", files.temp.path().join("d.js.gz")).unwrap();
        fs::create_dir(files.temp.path().join("e.js.gz")).unwrap();
        assert_eq!(files.chosen("d.js", &["gzip"], Extent::Whole), "only");
        assert_eq!(files.chosen("e.js", &["gzip"], Extent::Whole), "only");
        let variant = File::options().write(true).open(files.temp.path().join("a.js.gz")).unwrap();
        variant.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
        assert_eq!(files.chosen("a.js", &["gzip"], Extent::Whole), "only");
    }
}
