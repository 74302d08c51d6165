//! Suggestions for unknown words. `idle_timeout` and `idle-timeout` are spellings of `idleTimeout`;
//! otherwise the known word with the smallest edit distance is suggested.

/// Longer words get no suggestion.
const MAX_WORD_LENGTH: usize = 40;

/// The nearest of these words, if it is near enough.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.len() > MAX_WORD_LENGTH {
        return None;
    }
    let word = plain(word);
    let candidates = known.iter().map(|known| (strsim::osa_distance(&word, &plain(known)), *known));
    let (steps, found) = candidates.min_by_key(|(steps, _)| *steps)?;
    // Half of the letters may be equal by chance.
    let letters = word.chars().count().max(plain(found).chars().count());
    let allowed = (letters / 3).clamp(1, 3);
    (steps <= allowed).then_some(found)
}

/// Without case and separators.
fn plain(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_words_get_suggestions() {
        let known = ["timeout", "ttl", "idleTimeout", "maxBodySize", "cpu", "env", "envPrefix"];
        for (word, meant) in [
            ("timout", Some("timeout")),
            ("Timeout", Some("timeout")),
            ("idle_timeout", Some("idleTimeout")),
            ("idle-timeout", Some("idleTimeout")),
            ("max_body_sise", Some("maxBodySize")),
            ("cup", Some("cpu")),
            ("tttl", Some("ttl")),
            ("enviroment", None),
            ("x", None),
            ("", None),
            ("ünïcödé", None),
        ] {
            assert_eq!(nearest(word, &known), meant, "{word}");
        }
        assert_eq!(nearest(&"t".repeat(100_000), &known), None);
    }
}
