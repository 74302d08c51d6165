//! Comparison of secrets.

/// Compares without an early exit, so that the duration does not depend on how many bytes match.
pub fn constant_time_eq(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_equal() {
        assert!(constant_time_eq(b"", b"") && constant_time_eq(b"secret", b"secret"));
        assert!(!constant_time_eq(b"secret", b"secreT") && !constant_time_eq(b"secret", b"secrets"));
    }
}
