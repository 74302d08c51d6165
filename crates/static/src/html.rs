//! Finds where to insert text so that it comes first in the head of a page, and whether the page
//! has a `<base href>`.
//!
//! Implements a small part of HTML's tokenizer (section 13.2.5): comments, doctypes, tags with
//! attributes, and raw text elements. Only white space, comments, the doctype, `<html>` and stray
//! end tags may precede the head; anything else opens it implicitly. All input is accepted: bytes
//! that are not HTML have an insertion point, too.

/// Elements whose content is text, including tags.
const TEXT_ELEMENTS: [&[u8]; 9] =
    [b"script", b"style", b"title", b"textarea", b"noscript", b"noframes", b"noembed", b"iframe", b"xmp"];

/// What was found in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The offset of the insertion point, at the beginning of the head.
    pub head: usize,
    pub base: OwnBase,
}

/// Whether the page has a `<base>` with an `href`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnBase {
    Set,
    Unset,
}

pub fn outline(page: &[u8]) -> Outline {
    let mut tokens = Tokens { page, at: if page.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 } };
    let mut head = None;
    let mut base = OwnBase::Unset;
    loop {
        let start = tokens.at;
        let Some(token) = tokens.next() else { break };
        if head.is_none() {
            head = place_in_head(&token, start, tokens.at);
        }
        if let Token::Start { name, href: Href::Given } = token
            && name.eq_ignore_ascii_case(b"base")
        {
            base = OwnBase::Set;
            break;
        }
    }
    // A base that ended the search was in the head or opened it, so `head` is set.
    Outline { head: head.unwrap_or(page.len()), base }
}

/// The insertion point, if this token opens the head explicitly or implicitly.
fn place_in_head(token: &Token<'_>, start: usize, end: usize) -> Option<usize> {
    let is = |name: &[u8], names: &[&str]| names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    match token {
        Token::Blank | Token::Comment => None,
        Token::Start { name, .. } if is(name, &["html"]) => None,
        Token::Start { name, .. } if is(name, &["head"]) => Some(end),
        Token::End { name } if !is(name, &["head", "body", "html", "br"]) => None,
        Token::Text | Token::Start { .. } | Token::End { .. } => Some(start),
    }
}

enum Token<'a> {
    /// White space.
    Blank,
    Text,
    /// Also doctypes and processing instructions.
    Comment,
    /// Includes the content of raw text elements.
    Start {
        name: &'a [u8],
        href: Href,
    },
    End {
        name: &'a [u8],
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Href {
    Given,
    Missing,
}

struct Tokens<'a> {
    page: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    /// Returns the token at the current position and advances past it.
    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let first = rest.first()?;
        if is_space(*first) {
            self.skip_while(is_space);
            return Some(Token::Blank);
        }
        Some(match rest {
            [b'<', b'!', b'-', b'-', ..] => self.comment(),
            [b'<', b'!' | b'?', ..] => self.markup_to_its_end(),
            [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                self.at += 2;
                let (name, _) = self.tag();
                Token::End { name }
            }
            [b'<', b'/', _, ..] => self.markup_to_its_end(),
            [b'<', letter, ..] if letter.is_ascii_alphabetic() => {
                self.at += 1;
                let (name, href) = self.tag();
                self.skip_text_of(name);
                Token::Start { name, href }
            }
            _ => {
                self.at += 1;
                self.skip_while(|byte| byte != b'<');
                Token::Text
            }
        })
    }

    fn rest(&self) -> &'a [u8] {
        &self.page[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.page.get(self.at).copied()
    }

    fn skip_while(&mut self, is_in: impl Fn(u8) -> bool) {
        let rest = self.rest();
        self.at += rest.iter().position(|byte| !is_in(*byte)).unwrap_or(rest.len());
    }

    /// Skips to after the next `>`.
    fn markup_to_its_end(&mut self) -> Token<'a> {
        self.skip_while(|byte| byte != b'>');
        self.at = (self.at + 1).min(self.page.len());
        Token::Comment
    }

    /// Skips `<!-- … -->`, which also ends at `--!>`, or at an immediate `>` or `->`.
    fn comment(&mut self) -> Token<'a> {
        self.at += 4;
        if [&b">"[..], b"->"].iter().any(|end| self.rest().starts_with(end)) {
            return self.markup_to_its_end();
        }
        while let Some(dash) = self.rest().iter().position(|byte| *byte == b'-') {
            self.at += dash;
            if [&b"-->"[..], b"--!>"].iter().any(|end| self.rest().starts_with(end)) {
                return self.markup_to_its_end();
            }
            self.at += 1;
        }
        self.at = self.page.len();
        Token::Comment
    }

    /// Skips from a tag's name to after its `>`.
    fn tag(&mut self) -> (&'a [u8], Href) {
        let name = self.word(b"/>");
        let mut href = Href::Missing;
        loop {
            self.skip_while(|byte| is_space(byte) || byte == b'/');
            match self.peek() {
                None => return (name, href),
                Some(b'>') => {
                    self.at += 1;
                    return (name, href);
                }
                Some(_) => {
                    if self.attribute().eq_ignore_ascii_case(b"href") {
                        href = Href::Given;
                    }
                }
            }
        }
    }

    /// Returns the attribute's name and skips its value.
    fn attribute(&mut self) -> &'a [u8] {
        let start = self.at;
        // An equals sign at the beginning belongs to the name.
        self.at += 1;
        self.word(b"/>=");
        let name = &self.page[start..self.at];
        self.skip_while(is_space);
        if self.peek() != Some(b'=') {
            return name;
        }
        self.at += 1;
        self.skip_while(is_space);
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => {
                self.at += 1;
                self.skip_while(|byte| byte != quote);
                self.at = (self.at + 1).min(self.page.len());
            }
            _ => {
                self.word(b">");
            }
        }
        name
    }

    /// Advances to white space or one of `ends`.
    fn word(&mut self, ends: &[u8]) -> &'a [u8] {
        let start = self.at;
        self.skip_while(|byte| !is_space(byte) && !ends.contains(&byte));
        &self.page[start..self.at]
    }

    /// Skips from the start tag of a raw text element to its end tag.
    fn skip_text_of(&mut self, name: &[u8]) {
        if name.eq_ignore_ascii_case(b"plaintext") {
            self.at = self.page.len();
        }
        if !TEXT_ELEMENTS.iter().any(|element| name.eq_ignore_ascii_case(element)) {
            return;
        }
        while let Some(open) = self.rest().iter().position(|byte| *byte == b'<') {
            self.at += open;
            if self.rest().starts_with(b"</") {
                let after = &self.rest()[2..];
                let is_end = after.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
                    && after.get(name.len()).is_none_or(|byte| is_space(*byte) || matches!(byte, b'/' | b'>'));
                if is_end {
                    return;
                }
            }
            self.at += 1;
        }
        self.at = self.page.len();
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0C')
}

#[cfg(test)]
mod tests;
