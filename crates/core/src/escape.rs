//! Escapes texts for HTML.

/// Appends the text as HTML shows it, also inside of an attribute's quotes.
pub fn push_html(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let mut out = String::new();
        push_html(&mut out, "<a href=\"x\">é&'</a>");
        assert_eq!(out, "&lt;a href=&quot;x&quot;&gt;é&amp;&#39;&lt;/a&gt;");
    }
}
