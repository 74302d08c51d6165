//! What code in a session showed beside text: figures, tables, whatever has a form of its own. The interpreter leaves it in
//! files (`Notebook` in the agent's `zygote.py`), each named by its number and what it is; they are taken from there when the
//! run is over. They come from inside, and are taken for hostile: their number and size are limited.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hearth_sandbox::{PAGE_LIMIT, Remove, Sandbox};
use schemars::JsonSchema;
use serde::Serialize;

/// Where interpreters leave it, by the session's name.
const FOLDER: &str = "/tmp/.hearth/shown";
/// Forms that are taken of one run.
const MAX_FORMS: usize = 32;
/// Of all images of a run together: clients have limits for the length of a message.
const MAX_IMAGE_BYTES: u64 = 4 << 20;
/// Of all forms that are text.
const MAX_TEXT_BYTES: u64 = 256 << 10;

/// One form of something that was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Form {
    /// Forms of the same thing have the same number, in the order in which they were shown.
    pub number: u32,
    pub mime_type: &'static str,
    /// In bytes.
    pub size: u64,
    /// What it is, where it is text; images are in the result's content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// For the content of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub mime_type: &'static str,
    pub base64: String,
}

/// All that one run showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) forms: Vec<Form>,
    pub(crate) images: Vec<Image>,
}

/// What is left of the limits.
struct Room {
    images: u64,
    text: u64,
}

impl Shown {
    /// Takes what the session's last run showed. What cannot be read is not shown: the run itself went well.
    pub(crate) async fn take(sandbox: &Sandbox, session: &str) -> Self {
        let folder = format!("{FOLDER}/{session}");
        let mut shown = Self::default();
        // There is no folder before something is shown.
        let Ok(page) = sandbox.list_directory(&folder, None, PAGE_LIMIT).await else { return shown };
        let mut room = Room { images: MAX_IMAGE_BYTES, text: MAX_TEXT_BYTES };
        for entry in page.entries.iter().take(MAX_FORMS) {
            let Some((number, mime_type)) = named(&entry.name) else { continue };
            let size = entry.size.bytes();
            let is_image = mime_type == "image/png" || mime_type == "image/jpeg";
            let left = if is_image { &mut room.images } else { &mut room.text };
            let mut form = Form { number, mime_type, size, text: None };
            if let Some(rest) = left.checked_sub(size)
                && let Ok(content) = sandbox.read_file(&format!("{folder}/{}", entry.name)).await
            {
                *left = rest;
                match is_image {
                    true => shown.images.push(Image { mime_type, base64: STANDARD.encode(&content) }),
                    false => form.text = Some(String::from_utf8_lossy(&content).into_owned()),
                }
            }
            shown.forms.push(form);
        }
        // What stays would be shown again.
        let _ = sandbox.remove(&folder, Remove::Tree).await;
        shown
    }
}

/// The number and the media type of `0001.png`.
fn named(name: &str) -> Option<(u32, &'static str)> {
    let (number, extension) = name.split_once('.')?;
    let mime_type = match extension {
        "png" => "image/png",
        "jpg" => "image/jpeg",
        "svg" => "image/svg+xml",
        "html" => "text/html",
        "md" => "text/markdown",
        "tex" => "text/latex",
        "json" => "application/json",
        _ => return None,
    };
    Some((number.parse().ok()?, mime_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_in_them() {
        assert_eq!(named("0003.png"), Some((3, "image/png")));
        assert_eq!(named("0012.html"), Some((12, "text/html")));
        for wrong in ["png", "x.png", "1.exe", "1", ".png", "1.png.html"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
