use proptest::prelude::*;

use super::*;

const ELEMENTS: Callbacks = Callbacks(1);
const ALL: Callbacks = Callbacks(7);
const DOCUMENT: Callbacks = Callbacks(15);

fn rewriter(handlers: &[(Option<&str>, Callbacks)]) -> Rewriter {
    let handlers: Vec<_> =
        handlers.iter().map(|(selector, callbacks)| (selector.map(str::to_owned), *callbacks)).collect();
    Rewriter::new("utf-8", &handlers).unwrap()
}

/// The output, with `edit` for the edits of each event.
fn rewrite(rewriter: &mut Rewriter, chunks: &[&[u8]], mut edit: impl FnMut(&Event) -> Vec<Action>) -> String {
    let mut output = Vec::new();
    let mut finish = |rewriter: &mut Rewriter, events: Vec<Event>| {
        let edits = (0..).zip(&events).flat_map(|(invocation, event)| {
            edit(event).into_iter().map(move |action| Edit { invocation, action }).collect::<Vec<_>>()
        });
        output.extend(rewriter.edit(edits.collect(), Box::new(|_| true)).unwrap().unwrap());
    };
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let (slice, after) = rest.split_at(Rewriter::slice_length(rest));
            let events = rewriter.record(slice).unwrap();
            finish(rewriter, events);
            rest = after;
        }
    }
    let events = rewriter.record_end().unwrap();
    finish(rewriter, events);
    String::from_utf8(output).unwrap()
}

#[test]
fn edits_reach_the_invocations_that_asked_for_them() {
    let mut rewriter = rewriter(&[(Some("a[href]"), ELEMENTS), (Some("p"), ALL), (Some("*"), ELEMENTS)]);
    let html = b"<p>one<a href=x>two</a><!--three--></p><br>";
    let output = rewrite(&mut rewriter, &[html], |event| match (&event.token, event.owner) {
        (Token::Element { name, .. }, 0) if name == "a" => vec![Action::SetAttribute("href".into(), "y".into())],
        (Token::Same, 2) => vec![Action::SetAttribute("all".into(), "1".into())],
        (Token::Text { text, .. }, 1) if text == "two" => {
            vec![Action::Replace("2".into(), lol_html::html_content::ContentType::Text)]
        }
        (Token::Comment(_), 1) => vec![Action::Remove],
        (Token::EndTag(name), _) if name == "a" => vec![Action::SetText("b".into())],
        _ => Vec::new(),
    });
    assert_eq!(output, "<p all=\"1\">one<a href=\"y\" all=\"1\">2</b></p><br>");
}

#[test]
fn slices_end_before_tags() {
    assert_eq!(Rewriter::slice_length(b"<p>text"), 7);
    let many = b"<a>".repeat(1000);
    assert_eq!(Rewriter::slice_length(&many), 3 * (MAX_SLICE_TAGS + 1));
    assert_eq!(Rewriter::slice_length(&[b'x'; 3 * MAX_SLICE]), MAX_SLICE);
    assert_eq!(Rewriter::slice_length(&[b'<'; 3 * MAX_SLICE]), MAX_SLICE_TAGS + 1);
}

#[test]
fn selectors_are_bounded() {
    let nested = format!("{}a{}", ":not(".repeat(5000), ")".repeat(5000));
    assert!(matches!(parse_selector(&nested), Err(RewriteError::SelectorLimit)));
    assert!(matches!(parse_selector(&"a,".repeat(MAX_SELECTOR_BYTES)), Err(RewriteError::SelectorLimit)));
    assert!(matches!(parse_selector("a:hover"), Err(RewriteError::Selector(_))));
    assert!(parse_selector("a:not([href^='x']) > b.c#d:nth-child(2n+1)").is_ok());
    let many = vec![(Some("*".to_owned()), ELEMENTS); MAX_HANDLERS + 1];
    assert!(matches!(Rewriter::new("utf-8", &many), Err(RewriteError::SelectorLimit)));
    assert!(matches!(Rewriter::new("utf-16", &[]), Err(RewriteError::Encoding)));
}

#[test]
fn memory_is_bounded() {
    let mut open = rewriter(&[(Some("a b"), ELEMENTS)]);
    let many = b"<a>".repeat(MAX_SLICE_TAGS);
    let failed = (0..10_000).any(|_| match open.record(&many) {
        Ok(_) => {
            open.edit(Vec::new(), Box::new(|_| true)).unwrap();
            false
        }
        Err(error) => matches!(error, RewriteError::Rewriting(_)),
    });
    assert!(failed, "elements that are never closed come to an end");
    let mut long = rewriter(&[(Some("a"), ELEMENTS)]);
    let attribute = [b'x'; MAX_SLICE];
    long.record(b"<a b=\"").unwrap();
    long.edit(Vec::new(), Box::new(|_| true)).unwrap();
    let failed = (0..1000).any(|_| {
        let failed = long.record(&attribute).is_err();
        assert!(failed || long.expected_memory(&[]) >= long.pending() as u64);
        if !failed {
            long.edit(Vec::new(), Box::new(|_| true)).unwrap();
        }
        failed
    });
    assert!(failed, "so does a tag");
}

#[test]
fn output_without_room_is_refused() {
    let mut rewriter = rewriter(&[(None, DOCUMENT)]);
    rewriter.record(b"<p>text</p>").unwrap();
    assert!(rewriter.edit(Vec::new(), Box::new(|_| false)).unwrap().is_none());
}

/// Something like HTML.
fn document() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "</?(a|b|p|br|svg|script|title|table|td|template|select|!--|!doctype html)( [a-z]=(\"[^\"]{0,4}\"|x))? ?/?>",
        "[<>&\"' a-z/!-]{0,8}",
        "-->|\u{e9}|<!\\[CDATA\\[|\\]\\]>|<",
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// The two passes agree whatever the document and the slices are: what is edited is what was recorded.
    #[test]
    fn passes_agree(html in document(), cuts in prop::collection::vec(1_usize..9, 1..20), removed in any::<u8>()) {
        let handlers = [(Some("*"), ALL), (Some("a b, p"), ALL), (None, DOCUMENT)];
        let mut plain = rewriter(&handlers);
        let mut edited = rewriter(&handlers);
        let mut rest = html.as_bytes();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (slice, after) = rest.split_at((*cut).min(rest.len()));
            rest = after;
            // The parser refuses documents that are ambiguous: both passes do.
            let (Ok(one), Ok(other)) = (plain.record(slice), edited.record(slice)) else { return Ok(()) };
            prop_assert_eq!(&one, &other);
            prop_assert!(plain.edit(Vec::new(), Box::new(|_| true)).unwrap().is_some());
            let edits = (0..).zip(&other).filter(|(at, _)| (at ^ u32::from(removed)) % 3 == 0);
            let edits = edits.map(|(invocation, _)| Edit { invocation, action: Action::Remove }).collect();
            prop_assert!(edited.edit(edits, Box::new(|_| true)).unwrap().is_some());
            prop_assert_eq!(plain.editor.invocations(), one.len() as u32);
            prop_assert_eq!(edited.editor.invocations(), one.len() as u32);
        }
    }

    /// Without edits, what goes in comes out.
    #[test]
    fn documents_pass_unchanged(html in document(), cut in 1_usize..9) {
        let mut rewriter = rewriter(&[(Some("*"), ELEMENTS), (Some("a b, p"), ALL), (None, DOCUMENT)]);
        let mut output = Vec::new();
        for slice in html.as_bytes().chunks(cut) {
            let Ok(_) = rewriter.record(slice) else { return Ok(()) };
            output.extend(rewriter.edit(Vec::new(), Box::new(|_| true)).unwrap().unwrap());
        }
        let Ok(_) = rewriter.record_end() else { return Ok(()) };
        output.extend(rewriter.edit(Vec::new(), Box::new(|_| true)).unwrap().unwrap());
        prop_assert_eq!(String::from_utf8_lossy(&output), html);
    }
}
