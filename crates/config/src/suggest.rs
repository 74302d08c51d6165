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
    let candidates = known.iter().map(|known| (distance(&word, &plain(known)), *known));
    let (steps, found) = candidates.min_by_key(|(steps, _)| *steps)?;
    // Half of the letters may be equal by chance.
    let allowed = (word.len().max(plain(found).len()) / 3).clamp(1, 3);
    (steps <= allowed).then_some(found)
}

/// Without case and separators.
fn plain(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swap = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                change.min(swap).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
            };
        }
    }
    rows[a.len()][b.len()]
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
