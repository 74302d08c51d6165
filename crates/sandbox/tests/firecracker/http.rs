//! Requests as they come over the socket, and answers as Firecracker gives them.

use std::io::BufRead;

use serde_json::{Value, json};

pub fn refusal(why: &str) -> String {
    let body = json!({ "fault_message": why }).to_string();
    format!(
        "HTTP/1.1 400 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request and its body; `None` when there are no more.
pub fn read(from: &mut impl BufRead) -> Option<(String, Value)> {
    let mut line = || {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line.trim_end_matches("\r\n").to_owned()
    };
    let first = line();
    if first.is_empty() {
        return None;
    }
    let request = first.strip_suffix(" HTTP/1.1").expect("HTTP/1.1").to_owned();
    let (mut length, mut is_json) = (None, false);
    loop {
        match line().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse::<usize>().ok(),
            Some(("content-type", value)) => is_json = value == "application/json",
            Some(_) => {}
            None => break,
        }
    }
    assert!(is_json, "a body must say what it is");
    let mut body = vec![0; length.expect("a body must say how long it is")];
    from.read_exact(&mut body).unwrap();
    Some((request, serde_json::from_slice(&body).unwrap()))
}

pub fn only(body: &Value, fields: &[&str]) -> Result<(), String> {
    let mut found: Vec<&str> = body.as_object().ok_or("no object")?.keys().map(String::as_str).collect();
    found.sort_unstable();
    if found == fields { Ok(()) } else { Err(format!("{found:?} are not {fields:?}")) }
}

pub fn text<'a>(body: &'a Value, field: &str) -> Result<&'a str, String> {
    body[field].as_str().ok_or_else(|| format!("no {field}"))
}
