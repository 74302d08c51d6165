//! How long others may keep a file without asking.
//!
//! | name | `cache-control` |
//! |---|---|
//! | a page (HTML), by whatever path | `no-cache`: kept, but asked for each time |
//! | with a hash before its extension: `app.3f9a1b2c.js`, `index-BxY12abc.js` | `public, max-age=31536000, immutable` |
//! | any other | `public, max-age=0, must-revalidate` |
//!
//! A name is taken for a hashed one only where that is nearly sure, since a mistake lasts a year in every browser, and a
//! miss costs a question that is answered with 304.

use crate::media::Media;
use crate::rules::Audience;

/// Parts of names that builders put between hash and extension.
const AFTER_HASH: &[&str] = &["js", "mjs", "css", "min", "chunk", "bundle", "module"];

pub fn cache_control(name: &str, media: Media, audience: Audience) -> &'static str {
    match (audience, media.is_html(), is_hashed(name)) {
        (_, true, _) => "no-cache",
        (Audience::Public, _, true) => "public, max-age=31536000, immutable",
        (Audience::Private, _, true) => "private, max-age=31536000, immutable",
        (Audience::Public, _, false) => "public, max-age=0, must-revalidate",
        (Audience::Private, _, false) => "private, max-age=0, must-revalidate",
    }
}

fn is_hashed(name: &str) -> bool {
    let Some((mut stem, _)) = name.rsplit_once('.') else { return false };
    while let Some((before, last)) = stem.rsplit_once('.') {
        if !AFTER_HASH.contains(&last) {
            break;
        }
        stem = before;
    }
    is_hash(stem.rsplit(['.', '-']).next().unwrap_or(stem))
}

/// Eight or more letters and digits that nobody would think of: hex; or in capitals, or in both cases, or with two
/// numbers in it. A date has hardly a letter, and a word has at most one number (`version2`, `iphone15pro`).
fn is_hash(text: &str) -> bool {
    let count = |class: fn(&u8) -> bool| text.bytes().filter(class).count();
    let (digits, upper, lower) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    if text.len() < 8 || digits + upper + lower != text.len() || digits == 0 || upper + lower < 2 {
        return false;
    }
    let is_hex = upper == 0 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).count();
    is_hex || lower == 0 || (upper > 0 && lower > 0) || numbers >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_names() {
        for name in [
            "app.3f9a1b2c.js",
            "index-BxY12abc.js",
            "main-3KDNQ7YV.css",
            "chunk-k9b27c1q.js",
            "3f9a1b2c4d5e.js",
            "app.3f9a1b2c.min.js",
            "app.3f9a1b2c.js.map",
            "4bd1b696-c023c6e3521b1417.js",
            "font.8f2c1d3e4a.woff2",
            "logo-a1b2c3d4.svg",
        ] {
            assert!(is_hashed(name), "{name}");
        }
        for name in [
            "index.html",
            "app.js",
            "jquery-3.7.1.min.js",
            "bootstrap.bundle.min.js",
            "backup-20240101.zip",
            "annual-report-2024.pdf",
            "logo-version2.png",
            "iphone15promax.jpg",
            "a1b2c3d.js",
            "deadbeef.js",
            "3f9a1b2c",
            "report-20240101T1200.pdf",
            "backup-20240101b.zip",
            "manifest.webmanifest",
            "photo-Summer_2023.jpg",
            "über-straße12.js",
        ] {
            assert!(!is_hashed(name), "{name}");
        }
    }

    #[test]
    fn pages_are_asked_for_and_private_stays_private() {
        let control = |name, audience| cache_control(name, Media::of(name), audience);
        assert_eq!(control("index.html", Audience::Public), "no-cache");
        assert_eq!(control("index-BxY12abc.html", Audience::Public), "no-cache");
        assert_eq!(control("app.3f9a1b2c.js", Audience::Public), "public, max-age=31536000, immutable");
        assert_eq!(control("app.3f9a1b2c.js", Audience::Private), "private, max-age=31536000, immutable");
        assert_eq!(control("app.js", Audience::Public), "public, max-age=0, must-revalidate");
        assert_eq!(control("app.js", Audience::Private), "private, max-age=0, must-revalidate");
    }
}
