//! An error with its causes, as one line.

/// Causes follow after a colon. A cause that the error's own text ends with is not repeated.
pub fn chain(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if out.is_empty() {
            out = text;
        } else if !out.contains(&text) {
            out.push_str(": ");
            out.push_str(&text);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read it: {0}")]
    struct Telling(#[source] std::io::Error);

    #[test]
    fn no_cause_is_said_twice() {
        let denied = || std::io::Error::other("not allowed");
        assert_eq!(chain(&anyhow::Error::new(Telling(denied()))), "cannot read it: not allowed");
        let wrapped = anyhow::Error::new(Telling(denied())).context("cannot start");
        assert_eq!(chain(&wrapped), "cannot start: cannot read it: not allowed");
        assert_eq!(chain(&anyhow::Error::new(denied()).context("cannot start")), "cannot start: not allowed");
    }
}
