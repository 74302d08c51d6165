//! The templates: files of `examples/`, embedded in the program.

use std::borrow::Cow;
use std::fmt;

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// Text, a stream, an echo.
    Hello,
    /// Routes as a table.
    Routes,
    /// An API with Hono.
    Hono,
    /// A single-page app.
    Spa,
    /// Server-sent events.
    Sse,
    /// A chat room over WebSockets.
    Chat,
    /// Pages rendered on the server with React.
    Ssr,
    /// Work at certain times.
    Cron,
    /// WebAssembly.
    Wasm,
}

pub(super) struct TemplateFile {
    pub(super) name: &'static str,
    bytes: &'static [u8],
    /// The package's name in the example.
    package: &'static str,
}

/// The files of one example.
macro_rules! files {
    ($example:literal: $($name:literal),+) => {
        vec![$(TemplateFile {
            name: $name,
            bytes: include_bytes!(concat!("../../../../examples/", $example, "/", $name)),
            package: concat!("example-", $example),
        }),+]
    };
}

// === impl Template ===

impl Template {
    pub(super) fn files(self) -> Vec<TemplateFile> {
        match self {
            Self::Hello => files!("hello": "index.ts"),
            Self::Routes => files!("routes": "index.ts", "page.html", "manifest.yaml"),
            Self::Hono => files!("hono": "index.ts", "manifest.yaml", "package.json", "package-lock.json"),
            Self::Spa => files!("spa": "index.html", "app.js", "style.css", "manifest.yaml"),
            Self::Sse => files!("sse": "index.ts", "page.html"),
            Self::Chat => files!("chat": "index.ts", "page.html", "manifest.yaml"),
            Self::Ssr => {
                files!("ssr": "index.tsx", "manifest.yaml", "package.json", "package-lock.json", "tsconfig.json")
            }
            Self::Cron => files!("cron": "index.ts", "manifest.yaml"),
            Self::Wasm => files!("wasm": "index.ts", "add.wasm", "add.wat"),
        }
    }

    pub(super) fn has_packages(self) -> bool {
        matches!(self, Self::Hono | Self::Ssr)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // None is hidden, so each has a name.
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

// === impl TemplateFile ===

impl TemplateFile {
    /// The file's content, with the app's name.
    pub(super) fn named(&self, name: &str) -> Cow<'static, [u8]> {
        match std::str::from_utf8(self.bytes) {
            Ok(text) if self.name.starts_with("package") => {
                text.replace(&format!("\"{}\"", self.package), &format!("\"{name}\"")).into_bytes().into()
            }
            _ => self.bytes.into(),
        }
    }
}
