//! The MIME type of a file, by the extension of its name. Text is assumed to be UTF-8, and unknown
//! extensions are bytes: with `nosniff`, browsers never render a file as a page unless its name
//! says so.

use crate::request_path::extension;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MimeType(&'static str);

const HTML: &str = "text/html; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";

impl MimeType {
    pub fn from_name(name: &str) -> Self {
        Self(match extension(name) {
            Some(extension) if extension.len() <= 16 => by_extension(&extension.to_ascii_lowercase()),
            // Apple's systems request the file under this name and need a content type.
            None if name == "apple-app-site-association" => "application/json",
            _ => BYTES,
        })
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }

    pub fn is_html(self) -> bool {
        self.0 == HTML
    }

    /// Whether compressed variants are worth a look: images, audio, video and archives are
    /// compressed already.
    pub fn is_compressible(self) -> bool {
        let (kind, rest) = self.0.split_once('/').unwrap_or((self.0, ""));
        match kind {
            "text" => true,
            "image" => matches!(rest, "svg+xml" | "x-icon" | "bmp"),
            "font" => matches!(rest, "ttf" | "otf" | "collection"),
            "application" => !matches!(
                rest,
                "zip" | "gzip" | "x-bzip2" | "x-xz" | "x-7z-compressed" | "zstd" | "vnd.rar" | "x-brotli" | "epub+zip"
            ),
            "model" => true,
            _ => false,
        }
    }
}

fn by_extension(extension: &str) -> &'static str {
    match extension {
        // Pages and their resources.
        "html" | "htm" => HTML,
        "xhtml" | "xht" => "application/xhtml+xml",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" | "cjs" => JAVASCRIPT,
        "json" | "map" => "application/json",
        "jsonld" => "application/ld+json",
        "geojson" => "application/geo+json",
        "ndjson" | "jsonl" => "application/x-ndjson",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "xml" | "xsd" => "text/xml; charset=utf-8",
        "xsl" | "xslt" => "application/xslt+xml",
        "rss" => "application/rss+xml",
        "atom" => "application/atom+xml",
        "appcache" => "text/cache-manifest; charset=utf-8",
        "vtt" => "text/vtt; charset=utf-8",
        // Text.
        "txt" | "text" | "log" | "conf" | "ini" | "tsx" | "mts" | "cts" | "jsx" => TEXT,
        "md" | "markdown" => "text/markdown; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "tsv" => "text/tab-separated-values; charset=utf-8",
        "ics" => "text/calendar; charset=utf-8",
        "vcf" => "text/vcard; charset=utf-8",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "sh" => "application/x-sh",
        "sql" => "application/sql",
        // Images.
        "png" => "image/png",
        "apng" => "image/apng",
        "jpg" | "jpeg" | "jfif" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "jxl" => "image/jxl",
        "svg" | "svgz" => "image/svg+xml",
        "ico" | "cur" => "image/x-icon",
        "bmp" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        // Audio and video.
        "mp3" => "audio/mpeg",
        "m4a" => "audio/mp4",
        "aac" => "audio/aac",
        "oga" | "ogg" | "opus" => "audio/ogg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "weba" => "audio/webm",
        "mid" | "midi" => "audio/midi",
        "mp4" | "m4v" => "video/mp4",
        "webm" => "video/webm",
        "ogv" => "video/ogg",
        "mov" => "video/quicktime",
        "mkv" => "video/x-matroska",
        "avi" => "video/x-msvideo",
        "mpg" | "mpeg" => "video/mpeg",
        "ts" => "video/mp2t",
        "m3u8" => "application/vnd.apple.mpegurl",
        "mpd" => "application/dash+xml",
        // Fonts.
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        "ttc" => "font/collection",
        "eot" => "application/vnd.ms-fontobject",
        // Documents.
        "pdf" => "application/pdf",
        "rtf" => "application/rtf",
        "epub" => "application/epub+zip",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "ppt" => "application/vnd.ms-powerpoint",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "odt" => "application/vnd.oasis.opendocument.text",
        "ods" => "application/vnd.oasis.opendocument.spreadsheet",
        // Archives.
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "br" => "application/x-brotli",
        "zst" => "application/zstd",
        "bz2" => "application/x-bzip2",
        "xz" => "application/x-xz",
        "7z" => "application/x-7z-compressed",
        "rar" => "application/vnd.rar",
        "tar" => "application/x-tar",
        // Models.
        "gltf" => "model/gltf+json",
        "glb" => "model/gltf-binary",
        _ => BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_determine_types() {
        for (name, media) in [
            ("index.html", HTML),
            ("INDEX.HTM", HTML),
            ("a.min.JS", JAVASCRIPT),
            ("a.css", "text/css; charset=utf-8"),
            ("a.js.map", "application/json"),
            ("a.svg", "image/svg+xml"),
            ("a.wasm", "application/wasm"),
            ("a.js.gz", "application/gzip"),
            ("a.woff2", "font/woff2"),
            ("LICENSE", BYTES),
            ("a.unheard-of", BYTES),
            ("a.", BYTES),
            (".html", BYTES),
            ("apple-app-site-association", "application/json"),
        ] {
            assert_eq!(MimeType::from_name(name).as_str(), media, "{name}");
        }
    }

    #[test]
    fn compressed_formats_are_not_compressible() {
        for name in ["a.html", "a.js", "a.json", "a.svg", "a.wasm", "a.ttf", "a.xml", "a.bin", "a.ico", "a.glb"] {
            assert!(MimeType::from_name(name).is_compressible(), "{name}");
        }
        for name in ["a.png", "a.woff2", "a.mp4", "a.mp3", "a.zip", "a.gz", "a.br", "a.zst"] {
            assert!(!MimeType::from_name(name).is_compressible(), "{name}");
        }
    }
}
