//! The tape of a JSON text beside what a plain reader makes of the text, with what earlier texts have taught. The input is a
//! text a line; each is read until it is known.

use hearth_json::{STRING_SLOTS, TapeReader, Unsupported, tape};

/// After unusual texts some are not looked at, up to 255.
const PATIENCE: usize = 600;

pub fn check(data: &[u8]) {
    let mut worker = Worker { reader: TapeReader::default(), kept: vec![None; STRING_SLOTS], makers: Vec::new() };
    for text in data.split(|byte| *byte == b'\n') {
        let expected = std::str::from_utf8(text).ok().and_then(plain);
        let mut times = 0;
        for _ in 0..PATIENCE {
            match (worker.read(text), &expected) {
                (Ok(found), Some(expected)) => assert_eq!(&found, expected),
                (Ok(found), None) => panic!("{found:?} is no JSON"),
                (Err(Unsupported), _) => continue,
            }
            times += 1;
            if times == 3 {
                break;
            }
        }
    }
}

/// What JavaScript has: strings, and makers by their keys.
struct Worker {
    reader: TapeReader,
    kept: Vec<Option<String>>,
    makers: Vec<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    /// Its bits: -0 is not 0.
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// A place on a tape.
struct Walk<'a> {
    worker: &'a Worker,
    text: &'a [u8],
    at: usize,
}

impl Worker {
    fn read(&mut self, text: &[u8]) -> Result<Json, Unsupported> {
        if let Err(unusual) = self.reader.read(text) {
            self.reader.make_factories(|number, keys| {
                assert_eq!(number as usize, self.makers.len(), "makers have their numbers in turn");
                self.makers.push(keys.iter().map(|key| (*key).to_owned()).collect());
                true
            });
            assert!(self.makers.len() <= hearth_json::MAX_FACTORIES);
            return Err(unusual);
        }
        for kept in self.reader.kept() {
            assert!(text[kept.start..kept.end].is_ascii());
            self.kept[kept.place] = Some(string(&text[kept.start..kept.end]));
        }
        let mut walk = Walk { worker: self, text, at: 0 };
        let value = walk.value();
        assert_eq!(walk.at, self.reader.entries().len(), "all of the tape is read");
        assert!(self.reader.entries().len() <= tape::MAX_ENTRIES && self.reader.numbers().len() <= tape::NUMBERS);
        Ok(value)
    }
}

impl Walk<'_> {
    fn value(&mut self) -> Json {
        let (kind, value) = tape::parts(self.worker.reader.entries()[self.at]);
        self.at += 1;
        let place = value as usize;
        match kind {
            tape::INTEGER => Json::Number(f64::from(value).to_bits()),
            tape::NUMBER => Json::Number(self.worker.reader.numbers()[place].to_bits()),
            tape::KEPT => Json::Text(self.worker.kept[place].clone().expect("a string that is kept was given")),
            tape::FRESH => {
                let fresh = self.worker.reader.fresh()[place];
                let bytes = self.worker.reader.text_of(self.text, &fresh);
                assert_eq!(bytes.is_ascii(), fresh.is_ascii);
                Json::Text(string(bytes))
            }
            tape::OBJECT => {
                let keys = &self.worker.makers[place];
                Json::Object(keys.iter().map(|key| (key.clone(), self.value())).collect())
            }
            tape::ARRAY => Json::List((0..value).map(|_| self.value()).collect()),
            tape::CONSTANT if value == tape::NULL => Json::Null,
            tape::CONSTANT => Json::Bool(value == tape::TRUE),
            _ => panic!("there is no kind {kind}"),
        }
    }
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("strings are UTF-8")
}

/// What the text says, read character by character. Objects as JavaScript has them: the last of a name, at the place of the first.
/// None also for what the reader must leave alone: escapes in keys, halves of surrogate pairs, and keys that JavaScript puts elsewhere.
fn plain(text: &str) -> Option<Json> {
    let mut characters: Vec<char> = text.chars().collect();
    characters.reverse();
    let value = plain_value(&mut characters)?;
    skip(&mut characters);
    characters.is_empty().then_some(value)
}

fn skip(rest: &mut Vec<char>) {
    while let Some(' ' | '\t' | '\r' | '\n') = rest.last() {
        rest.pop();
    }
}

fn next_is(rest: &mut Vec<char>, wanted: char) -> bool {
    skip(rest);
    next_if(rest, |next| next == wanted).is_some()
}

fn next_if(rest: &mut Vec<char>, accept: impl FnOnce(char) -> bool) -> Option<char> {
    if accept(*rest.last()?) { rest.pop() } else { None }
}

fn plain_value(rest: &mut Vec<char>) -> Option<Json> {
    skip(rest);
    match rest.last()? {
        '"' => Some(Json::Text(plain_text(rest)?)),
        '[' => {
            rest.pop();
            let mut list = Vec::new();
            if next_is(rest, ']') {
                return Some(Json::List(list));
            }
            loop {
                list.push(plain_value(rest)?);
                if next_is(rest, ']') {
                    return Some(Json::List(list));
                }
                next_is(rest, ',').then_some(())?;
            }
        }
        '{' => {
            rest.pop();
            let mut members = Vec::new();
            if next_is(rest, '}') {
                return Some(Json::Object(members));
            }
            loop {
                skip(rest);
                let key = plain_text(rest)?;
                next_is(rest, ':').then_some(())?;
                let value = plain_value(rest)?;
                let elsewhere = key == "__proto__" || (!key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()));
                if elsewhere || members.iter().any(|(known, _)| *known == key) {
                    return None;
                }
                members.push((key, value));
                if next_is(rest, '}') {
                    return Some(Json::Object(members));
                }
                next_is(rest, ',').then_some(())?;
            }
        }
        '-' | '0'..='9' => plain_number(rest),
        _ => {
            let mut word = String::new();
            while let Some(letter) = next_if(rest, |next| next.is_ascii_lowercase()) {
                word.push(letter);
            }
            match word.as_str() {
                "null" => Some(Json::Null),
                "true" => Some(Json::Bool(true)),
                "false" => Some(Json::Bool(false)),
                _ => None,
            }
        }
    }
}

fn plain_text(rest: &mut Vec<char>) -> Option<String> {
    next_if(rest, |next| next == '"')?;
    let mut units: Vec<u16> = Vec::new();
    loop {
        match rest.pop()? {
            '"' => return String::from_utf16(&units).ok(),
            '\\' => units.push(match rest.pop()? {
                'u' => {
                    let digits: String = (0..4).map_while(|_| next_if(rest, |next| next.is_ascii_hexdigit())).collect();
                    if digits.len() < 4 {
                        return None;
                    }
                    u16::from_str_radix(&digits, 16).ok()?
                }
                'b' => 8,
                'f' => 12,
                'n' => 10,
                'r' => 13,
                't' => 9,
                same @ ('"' | '\\' | '/') => same as u16,
                _ => return None,
            }),
            '\0'..='\u{1f}' => return None,
            other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
        }
    }
}

fn plain_number(rest: &mut Vec<char>) -> Option<Json> {
    let mut text = String::new();
    while let Some(next) = next_if(rest, |next| matches!(next, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')) {
        text.push(next);
    }
    // Rust reads more than JSON has: 01, 1., .5, +1, and what has no digits.
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let are_digits =
        [whole, fraction, power].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if !are_digits || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    Some(Json::Number(text.parse::<f64>().ok()?.to_bits()))
}
