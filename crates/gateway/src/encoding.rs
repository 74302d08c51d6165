//! Which content codings a client accepts: its `accept-encoding` (RFC 9110, section 12.5.3), as far as it concerns the codings
//! that the gateway supports.

/// A supported content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Brotli,
    Gzip,
}

/// The client's weight for each coding, in thousandths; zero is not accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepts {
    brotli: u16,
    gzip: u16,
    /// The uncoded body's weight, where the client gives one; it is accepted in any case.
    identity: u16,
}

impl Accepts {
    /// Nothing but the uncoded body: there is no header.
    pub const NOTHING: Self = Self { brotli: 0, gzip: 0, identity: 0 };

    pub fn parse(header: &[u8]) -> Self {
        let (mut all, mut named, mut rest) = (Self::NOTHING, [false; 2], None);
        for member in header.split(|b| *b == b',') {
            let mut parts = member.split(|b| *b == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let weight = parts.find_map(weight).unwrap_or(1000);
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            if is(b"br") {
                (all.brotli, named[0]) = (weight, true);
            } else if is(b"gzip") || is(b"x-gzip") {
                (all.gzip, named[1]) = (weight, true);
            } else if is(b"identity") {
                all.identity = weight;
            } else if is(b"*") {
                rest = Some(weight);
            }
        }
        if let Some(weight) = rest {
            all.brotli = if named[0] { all.brotli } else { weight };
            all.gzip = if named[1] { all.gzip } else { weight };
        }
        all
    }

    /// The client's preferred coding; brotli where weights are equal, since it is smaller for the same time.
    pub fn best(self) -> Option<Coding> {
        let (coding, weight) =
            if self.brotli >= self.gzip { (Coding::Brotli, self.brotli) } else { (Coding::Gzip, self.gzip) };
        (weight > 0 && weight >= self.identity).then_some(coding)
    }
}

/// `q=0.5` in thousandths. None for any other parameter.
fn weight(part: &[u8]) -> Option<u16> {
    let (b'q' | b'Q', rest) = part.split_first()? else { return None };
    let number = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let value: f32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    (0.0..=1.0).contains(&value).then_some((value * 1000.0) as u16)
}

impl Coding {
    /// Its name in `content-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_get_the_preferred_coding() {
        for (header, best) in [
            ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
            ("gzip", Some(Coding::Gzip)),
            ("GZIP;Q=0.5", Some(Coding::Gzip)),
            ("gzip;q=1, br;q=0.9", Some(Coding::Gzip)),
            ("br;q=0, *", Some(Coding::Gzip)),
            ("*", Some(Coding::Brotli)),
            ("gzip;q=0, *;q=0.5", Some(Coding::Brotli)),
            ("gzip ; q = 0.3 ,br; q=0.2", Some(Coding::Gzip)),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip;q=0.5", Some(Coding::Gzip)),
            ("gzip;q=0", None),
            ("*;q=0", None),
            ("deflate, zstd", None),
            ("gzippy", None),
            ("", None),
            (",;,q=1", None),
            ("gzip;q=junk", Some(Coding::Gzip)),
            ("gzip;q=7", Some(Coding::Gzip)),
            ("\u{e9}", None),
        ] {
            assert_eq!(Accepts::parse(header.as_bytes()).best(), best, "{header:?}");
        }
        assert_eq!(Accepts::NOTHING.best(), None);
    }
}
