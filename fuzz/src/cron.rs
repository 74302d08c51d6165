//! A cron expression, and when it comes.
//!
//! - What is read prints as itself; case and blanks do not matter.
//! - The next time is later, and it is the next one from every point before it.
//! - With five fields it is a whole minute; days fit their month, on the calendar that is read here a second time.
//! - What never comes never comes, wherever one starts.

use hearth_config::Cron;

/// In 1970, before and after it, around a century without its leap day, and where time ends.
const STARTS: [i64; 8] = [0, -1, -2_208_988_800, 951_782_399, 1_704_067_200, 4_107_542_399, i64::MIN, i64::MAX];

pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let cron = match Cron::parse(&text) {
        Ok(cron) => cron,
        Err(error) => return assert!(!error.to_string().contains('\n'), "one line"),
    };
    assert_eq!(Cron::parse(&cron.to_string()).as_ref(), Ok(&cron), "prints itself");
    let other = format!(" \t{} ", text.to_ascii_uppercase().split_ascii_whitespace().collect::<Vec<_>>().join("  "));
    // Nicknames are in lower case.
    let other = (!text.contains('@')).then(|| Cron::parse(&other).unwrap_or_else(|error| panic!("{error}")));
    let minutes = text.split_ascii_whitespace().count() != 6;
    let mut never = 0;
    for start in STARTS {
        let Some(next) = cron.next_after(start) else {
            never += usize::from(start > i64::MIN / 2 && start < i64::MAX / 2);
            continue;
        };
        assert!(next > start, "{next} is not after {start}");
        assert!(!minutes || next.rem_euclid(60) == 0, "{next} is no whole minute");
        for before in [next - 1, start + (next - start) / 2, start + (next - start) / 3] {
            if before >= start && before < next {
                assert_eq!(cron.next_after(before), Some(next), "from {before}, after {start}");
            }
        }
        assert!(cron.next_after(next).is_none_or(|after| after > next));
        if let Some(other) = &other {
            assert_eq!(other.next_after(start), Some(next), "case and blanks");
        }
    }
    assert!(never == 0 || never == STARTS.len() - 2, "it comes from some starts, and from others never");
}
