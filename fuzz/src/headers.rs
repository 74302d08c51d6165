//! A list of headers beside a plain list of pairs, through the same additions and removals.
//! The input is one step a line: `+name:value` adds, `=name:value` replaces, `-name` removes.

use hearth_core::Headers;

pub fn check(data: &[u8]) {
    let (mut headers, mut model) = (Headers::new(), Vec::<(Vec<u8>, Vec<u8>)>::new());
    for step in data.split(|b| *b == b'\n') {
        let Some((kind, rest)) = step.split_first() else { continue };
        let colon = rest.iter().position(|b| *b == b':').unwrap_or(rest.len());
        let (name, value) = (&rest[..colon], rest.get(colon + 1..).unwrap_or_default());
        let lower = String::from_utf8_lossy(name).to_ascii_lowercase();
        match kind {
            b'=' => {
                headers.set(&lower, value);
                model.retain(|(n, _)| n != lower.as_bytes());
                model.push((lower.clone().into_bytes(), value.to_vec()));
            }
            b'-' => {
                headers.remove(&lower);
                model.retain(|(n, _)| n != lower.as_bytes());
            }
            _ => {
                headers.push(name, value);
                model.push((name.to_ascii_lowercase(), value.to_vec()));
            }
        }
        compare(&headers, &model, &lower);
    }
    compare(&headers.clone(), &model, "x");
}

fn compare(headers: &Headers, model: &[(Vec<u8>, Vec<u8>)], name: &str) {
    assert!(headers.iter().eq(model.iter().map(|(name, value)| (&name[..], &value[..]))));
    assert_eq!((headers.len(), headers.is_empty()), (model.len(), model.is_empty()));
    let of_name: Vec<&[u8]> = model.iter().filter(|(n, _)| n == name.as_bytes()).map(|(_, v)| &v[..]).collect();
    assert_eq!(headers.get(name), of_name.first().copied());
    assert_eq!(headers.contains(name), !of_name.is_empty());
    assert!(headers.get_all(name).eq(of_name));
}
