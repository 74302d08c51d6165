//! Removes a cookie that apps must not see. Browsers do not tell ports apart in cookies: a cookie that the admin API's pages set
//! under one port comes with every request to the same host, where each app could read it.

use std::borrow::Cow;

/// The value of a `cookie` header without the cookies of that name.
pub fn without<'a>(value: &'a [u8], name: &str) -> Cow<'a, [u8]> {
    if memchr::memmem::find(value, name.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let is_other = |cookie: &&[u8]| {
        let end = memchr::memchr(b'=', cookie).unwrap_or(cookie.len());
        cookie[..end].trim_ascii() != name.as_bytes()
    };
    let others: Vec<&[u8]> = value.split(|byte| *byte == b';').filter(is_other).map(<[u8]>::trim_ascii).collect();
    Cow::Owned(others.join(&b"; "[..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cookies_of_that_name_are_removed() {
        for (all, rest) in [
            ("a=1; secret=x; b=2", "a=1; b=2"),
            ("secret=x", ""),
            ("secret", ""),
            (" secret = x;a=secret", "a=secret"),
            ("secret=x;secret=y;;c", "; c"),
            ("secret2=x; mysecret=y", "secret2=x; mysecret=y"),
            ("Secret=x", "Secret=x"),
            ("", ""),
        ] {
            assert_eq!(&*without(all.as_bytes(), "secret"), rest.as_bytes(), "{all}");
        }
    }
}
