//! The tapes of texts, and which texts are unsupported. The fuzz target checks every value
//! (`fuzz/src/json.rs`).

use super::{Kept, TapeReader, Unsupported};
use crate::tape::{self, parts};

/// Reads the text until it is not new; all factories can be made.
fn read(reader: &mut TapeReader, text: &str) -> Result<(), Unsupported> {
    for _ in 0..2000 {
        if reader.read(text.as_bytes()).is_ok() {
            return Ok(());
        }
        reader.make_factories(|_, _| true);
    }
    Err(Unsupported)
}

fn fresh(reader: &TapeReader, text: &str) -> Vec<(String, bool)> {
    let string = |one| String::from_utf8(reader.text_of(text.as_bytes(), one).to_vec()).unwrap();
    reader.fresh().iter().map(|one| (string(one), one.is_ascii)).collect()
}

fn entries(text: &str) -> Vec<(u32, i32)> {
    let mut reader = TapeReader::default();
    read(&mut reader, text).unwrap();
    reader.entries().iter().map(|entry| parts(*entry)).collect()
}

#[test]
fn values_lie_on_the_tape_in_the_order_of_the_text() {
    assert_eq!(
        entries(r#" { "a" : 1 , "b" : [ true , null , -2.5 ] } "#),
        [
            (tape::OBJECT, 0),
            (tape::INTEGER, 1),
            (tape::ARRAY, 3),
            (tape::CONSTANT, tape::TRUE),
            (tape::CONSTANT, tape::NULL),
            (tape::NUMBER, 0)
        ]
    );
    assert_eq!(entries("[]"), [(tape::ARRAY, 0)]);
    assert_eq!(entries("false"), [(tape::CONSTANT, tape::FALSE)]);
}

#[test]
fn a_shape_gets_its_maker_when_it_is_seen_again() {
    let mut reader = TapeReader::default();
    let mut factories: Vec<(u32, Vec<String>)> = Vec::new();
    let mut taught = Vec::new();
    for _ in 0..8 {
        let result = reader.read(br#"[{"x":1,"y":2},{"y":1},{"x":3,"y":4}]"#);
        reader.make_factories(|number, keys| {
            factories.push((number, keys.iter().map(|key| (*key).to_owned()).collect()));
            true
        });
        taught.push((result.is_ok(), factories.len()));
    }
    // The second text after one, and the third after three, were skipped.
    assert_eq!(taught[..2], [(false, 1), (false, 1)]);
    assert_eq!(taught[2..], [(false, 2), (false, 2), (false, 2), (false, 2), (true, 2), (true, 2)]);
    assert_eq!(factories, [(0, vec!["x".to_owned(), "y".to_owned()]), (1, vec!["y".to_owned()])]);
    assert_eq!(parts(reader.entries()[4]), (tape::OBJECT, 1));
}

#[test]
fn a_maker_that_cannot_be_made_is_not_asked_for_again() {
    let mut reader = TapeReader::default();
    let mut asked = 0;
    for _ in 0..1000 {
        assert_eq!(reader.read(br#"{"a":1}"#), Err(Unsupported));
        reader.make_factories(|_, _| {
            asked += 1;
            false
        });
    }
    assert_eq!(asked, 1);
}

#[test]
fn a_string_is_fresh_then_kept_then_known() {
    let mut reader = TapeReader::default();
    reader.read(br#"["short"]"#).unwrap();
    assert_eq!(fresh(&reader, r#"["short"]"#), [("short".to_owned(), true)]);
    reader.read(br#"["short"]"#).unwrap();
    let [Kept { place, start: 2, end: 7 }] = *reader.kept() else { panic!("it is kept when it is seen again") };
    assert_eq!(parts(reader.entries()[1]), (tape::KEPT, place as i32));
    reader.read(br#"["short"]"#).unwrap();
    assert!(reader.kept().is_empty() && reader.fresh().is_empty());
    assert_eq!(parts(reader.entries()[1]), (tape::KEPT, place as i32));
    // An unsupported text caches nothing.
    reader.read(br#"["other"]"#).unwrap();
    assert_eq!(reader.read(br#"["other",]"#), Err(Unsupported));
    while reader.read(br#"["other"]"#).is_err() {}
    assert_eq!(reader.kept().len(), 1);
}

#[test]
fn long_strings_and_those_beyond_ascii_are_fresh() {
    let mut reader = TapeReader::default();
    let text = "[\"a string of some length\",\"Zo\u{eb}\"]";
    for _ in 0..3 {
        reader.read(text.as_bytes()).unwrap();
        assert_eq!(
            fresh(&reader, text),
            [("a string of some length".to_owned(), true), ("Zo\u{eb}".to_owned(), false)]
        );
    }
}

#[test]
fn escapes_are_read() {
    let mut reader = TapeReader::default();
    let text = "[\"one\\ntwo\",\"\\\"\",\"Zo\u{eb}\\u00eb!\",\"\\ud83d\\ude00\"]";
    reader.read(text.as_bytes()).unwrap();
    let texts: Vec<String> = fresh(&reader, text).into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["one\ntwo", "\"", "Zo\u{eb}\u{eb}!", "\u{1f600}"]);
}

#[test]
fn what_is_unusual_is_left_to_json_parse() {
    let deep = "[".repeat(tape::MAX_DEPTH + 1) + &"]".repeat(tape::MAX_DEPTH + 1);
    let long = format!("[{}0]", "0,".repeat(tape::MAX_ENTRIES));
    let large = format!("\"{}\"", "a".repeat(tape::MAX_TEXT_BYTES));
    let many = format!("[{}0]", "0.5,".repeat(tape::NUMBERS + 1));
    let wide = format!("{{{}\"z\":0}}", (0..64).map(|n| format!("\"k{n}\":0,")).collect::<String>());
    let texts = [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "1 2",
        "tru",
        "nul",
        "True",
        "\"",
        "\"a",
        "\"\\x\"",
        "\"\\ud83d\"",
        "\"\t\"",
        "{\"a\":1,\"a\":2}",
        "{\"__proto__\":1}",
        "{\"1\":1}",
        "{\"a\\u0062\":1}",
        "{\"\u{eb}\":1}",
        "01",
        "1.",
        "\u{feff}1",
        "[1]]",
        "undefined",
        "NaN",
        "-",
        "/**/1",
        &deep,
        &large,
        &long,
        &many,
        &wide,
    ];
    for text in texts {
        assert_eq!(read(&mut TapeReader::default(), text), Err(Unsupported), "{text}");
    }
    assert_eq!(TapeReader::default().read(b"[\"\xff\"]"), Err(Unsupported));
}

#[test]
fn a_table_by_names_fills_no_more_than_its_part() {
    let mut reader = TapeReader::default();
    for n in 0..20_000 {
        let _ = reader.read(format!("{{\"name{n}\":1}}").as_bytes());
        reader.make_factories(|_, _| true);
    }
    // Other shapes are still learned.
    assert!(read(&mut reader, r#"[{"name0":1,"value":2}]"#).is_ok());
}

#[test]
fn texts_that_are_unusual_again_and_again_are_hardly_looked_at() {
    let mut reader = TapeReader::default();
    for _ in 0..2000 {
        assert_eq!(reader.read(b"[1, \"\\x\"]"), Err(Unsupported));
    }
    let mut passed = 0;
    while reader.read(b"[1]").is_err() {
        passed += 1;
    }
    assert!(passed <= super::MAX_PASS);
    for _ in 0..100 {
        reader.read(b"[1]").unwrap();
    }
}
