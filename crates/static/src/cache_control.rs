//! `cache-control`: how long caches may keep a file without revalidation.
//!
//! | name | `cache-control` |
//! |---|---|
//! | a page (HTML), by whatever path | `no-cache`: kept, but asked for each time |
//! | with a hash before its extension: `app.3f9a1b2c.js`, `index-BxY12abc.js` | `public, max-age=31536000, immutable` |
//! | below a folder `immutable`: `_app/immutable/nodes/0.js` | the same: its name says so |
//! | below `_next/static` | the same: Next names all that is there after its contents |
//! | with eight characters for a hash in a folder that only a builder writes: `_astro/page.DrqNLHZG.css` | the same |
//! | the same in `assets`, in both cases and no word: `assets/hero-CLDdwZDr.png` | the same |
//! | any other | `public, max-age=0, must-revalidate` |
//!
//! A name counts as hashed only if that is nearly certain: a mistake lasts a year in every browser,
//! while a miss costs a revalidation that is answered with 304. In names that people write, a digit
//! is therefore required.

use crate::mime::MimeType;
use crate::rules::Audience;

/// Parts of names that builders put between hash and extension.
const AFTER_HASH: &[&str] = &["js", "mjs", "css", "min", "chunk", "bundle", "module"];

/// Folders of builders in which every name has a hash: Astro, Nuxt, Next.
const BUILDERS: &[&str] = &["_astro", "_nuxt", "_next"];
/// Everything below a folder of this name is immutable: SvelteKit's `_app/immutable`.
const IMMUTABLE: &str = "immutable";

/// Next's: every name below it has a hash, in several forms.
const NEXT: [&str; 2] = ["_next", "static"];
/// Vite's output folder, a name that people use as well.
const ASSETS: &str = "assets";

/// `folders` are the folders on the way to the file.
pub fn cache_control(folders: &[String], name: &str, media: MimeType, audience: Audience) -> &'static str {
    let is_in = |names: &[&str]| folders.iter().any(|folder| names.contains(&folder.as_str()));
    let is_next = folders.windows(2).any(|pair| pair == NEXT);
    let stays = is_hashed(name)
        || is_in(&[IMMUTABLE])
        || is_next
        || (is_in(BUILDERS) && has_short_hash(name))
        || (is_in(&[ASSETS]) && has_short_hash(name) && is_mixed(name));
    match (audience, media.is_html(), stays) {
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

/// `page.DrqNLHZG.css`, `entry.D-x_abcd.js`: eight base64 characters before the extension, for
/// which no digit is required.
fn has_short_hash(name: &str) -> bool {
    let Some((stem, _)) = name.rsplit_once('.') else { return false };
    let Some((before, hash)) = stem.len().checked_sub(8).and_then(|at| stem.split_at_checked(at)) else { return false };
    let is_code = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_word = !hash.bytes().any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    hash.bytes().all(is_code) && !is_word && (before.is_empty() || before.ends_with(['.', '-', '_']))
}

/// Whether the last eight characters before the extension are unlikely to be words: two capitals
/// and a non-letter, or three capitals, and small letters.
fn is_mixed(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let hash = &stem.as_bytes()[stem.len().saturating_sub(8)..];
    let count = |class: fn(&u8) -> bool| hash.iter().filter(|byte| class(byte)).count();
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    lower > 0 && (upper >= 3 || (upper == 2 && upper + lower < hash.len()))
}

/// Whether the text is eight or more letters and digits that are unlikely to be a word: hex; or
/// capitals only, mixed case, or with two numbers in it. A date has hardly a letter, and a word has
/// at most one number (`version2`, `iphone15pro`).
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
    fn pages_are_revalidated_and_private_files_stay_private() {
        let control = |name, audience| cache_control(&[], name, MimeType::from_name(name), audience);
        assert_eq!(control("index.html", Audience::Public), "no-cache");
        assert_eq!(control("index-BxY12abc.html", Audience::Public), "no-cache");
        assert_eq!(control("app.3f9a1b2c.js", Audience::Public), "public, max-age=31536000, immutable");
        assert_eq!(control("app.3f9a1b2c.js", Audience::Private), "private, max-age=31536000, immutable");
        assert_eq!(control("app.js", Audience::Public), "public, max-age=0, must-revalidate");
        assert_eq!(control("app.js", Audience::Private), "private, max-age=0, must-revalidate");
    }

    #[test]
    fn folders_of_builders() {
        let stays = |path: &str| {
            let mut names: Vec<String> = path.split('/').map(str::to_owned).collect();
            let name = names.pop().unwrap_or_default();
            cache_control(&names, &name, MimeType::from_name(&name), Audience::Public).ends_with("immutable")
        };
        for path in [
            "_app/immutable/nodes/0.js",
            "docs/_app/immutable/assets/fira.woff2",
            "_astro/page.DrqNLHZG.css",
            "_astro/hoisted.D-x_Abcd.js",
            "_nuxt/BxYabcDE.js",
            "_next/static/chunks/main-DrqNLHZG.js",
            "_next/static/chunks/0_1c5e_a7f2._.js",
            "docs/_next/static/aBc-D_e/_buildManifest.js",
            "assets/hero-CLDdwZDr.png",
            "assets/index-D-x_Abcd.js",
        ] {
            assert!(stays(path), "{path}");
        }
        for path in [
            "_app/version.json",
            "_astro/favicon.svg",
            "_astro/page.stylesheet.css",
            "_astro/DrqNLHZG",
            "_next/data.json",
            "static/_next/logo.svg",
            "assets/logo-DarkMode.svg",
            "assets/report-Jan_2024.pdf",
            "images/hero-CLDdwZDr.png",
            "styles/page.DrqNLHZG.css",
            "immutable/index.html",
            "my-immutable/a.js",
        ] {
            assert!(!stays(path), "{path}");
        }
    }
}
