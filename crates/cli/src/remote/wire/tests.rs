use super::*;

/// Status and body, read in pieces of every size.
fn read(text: &str) -> io::Result<(u16, String)> {
    let mut last = None;
    for capacity in [1, 2, 3, 7, 4096] {
        let mut input = io::BufReader::with_capacity(capacity, text.as_bytes());
        let head = read_head(&mut input)?;
        let mut body = String::new();
        Body::new(&head, input).read_to_string(&mut body)?;
        let read = (head.status, body);
        assert!(last.is_none() || last.as_ref() == Some(&read), "{text:?}");
        last = Some(read);
    }
    Ok(last.unwrap())
}

#[test]
fn bodies_of_each_kind() {
    for (text, status, body) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab and more", 200, "ab"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""),
        ("HTTP/1.0 404 Not Found\r\n\r\nto the end", 404, "to the end"),
        (
            "HTTP/1.1 201\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nt: 1\r\n\r\n",
            201,
            "abc0123456789",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, "a"),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na", 200, "a"),
        ("HTTP/1.1 200 OK\ncontent-length: 1\n\na", 200, "a"),
    ] {
        assert_eq!(read(text).unwrap(), (status, body.to_owned()), "{text:?}");
    }
}

#[test]
fn what_ends_too_early_is_an_error() {
    let whole = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert!(read(whole).is_ok());
    for end in 0..whole.len() {
        assert_eq!(read(&whole[..end]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{:?}", &whole[..end]);
    }
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab";
    assert_eq!(read(short).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn what_is_no_http_is_an_error() {
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(100_000));
    for text in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        &endless,
    ] {
        assert_eq!(read(text).unwrap_err().kind(), io::ErrorKind::InvalidData, "{:?}", &text[..text.len().min(80)]);
    }
}

#[test]
fn a_request_has_all_that_is_needed() {
    let mut out = Vec::new();
    write_head(&mut out, ("POST", "/admin/drain"), ("[::1]:9090", "t0ken"), 7).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("POST /admin/drain HTTP/1.1\r\nhost: [::1]:9090\r\nauthorization: Bearer t0ken\r\n"));
    assert!(text.contains("\r\ncontent-length: 7\r\n") && text.ends_with("\r\n\r\n"), "{text}");
}
