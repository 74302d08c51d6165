//! Searching in bytes, in time that grows with the lengths alone and not with their product.

use memchr::memmem;

/// An empty `wanted` is found where the search starts.
pub(super) fn first(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    memmem::find(bytes.get(from..)?, wanted).map(|at| from + at)
}

/// The last one that starts at `from` or before.
pub(super) fn last(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let end = from.saturating_add(wanted.len()).min(bytes.len());
    memmem::rfind(&bytes[..end], wanted)
}

/// The same of units of two bytes: what is found starts at an even index.
pub(super) fn first_wide(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let (bytes, wanted) = (pairs(bytes), pairs(wanted));
    let from = from.div_ceil(2);
    let at = knuth_morris_pratt(
        wanted.len(),
        bytes.len().checked_sub(from)?,
        |place, unit| bytes[from + place] == wanted[unit],
        |left, right| wanted[left] == wanted[right],
    )?;
    Some((from + at) * 2)
}

pub(super) fn last_wide(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let (bytes, wanted) = (pairs(bytes), pairs(wanted));
    let end = (from / 2).saturating_add(wanted.len()).min(bytes.len());
    let (last, last_wanted) = (end.checked_sub(1), wanted.len().checked_sub(1));
    let (Some(last), Some(last_wanted)) = (last, last_wanted) else {
        return wanted.is_empty().then_some(end * 2);
    };
    let at = knuth_morris_pratt(
        wanted.len(),
        end,
        |place, unit| bytes[last - place] == wanted[last_wanted - unit],
        |left, right| wanted[last_wanted - left] == wanted[last_wanted - right],
    )?;
    Some((end - at - wanted.len()) * 2)
}

fn pairs(bytes: &[u8]) -> &[[u8; 2]] {
    bytes.as_chunks().0
}

/// Where something of `wanted` units first is among `length` units. `fits(place, unit)`: the unit is at that place;
/// `same(left, right)`: two of the wanted units are equal.
fn knuth_morris_pratt(
    wanted: usize,
    length: usize,
    fits: impl Fn(usize, usize) -> bool,
    same: impl Fn(usize, usize) -> bool,
) -> Option<usize> {
    if wanted == 0 {
        return Some(0);
    }
    if wanted > length {
        return None;
    }
    // For each beginning of what is wanted: the length of the longest shorter beginning that it ends with.
    let mut borders = vec![0u32; wanted];
    let mut border = 0;
    for unit in 1..wanted {
        while border > 0 && !same(unit, border) {
            border = borders[border - 1] as usize;
        }
        if same(unit, border) {
            border += 1;
        }
        borders[unit] = border as u32;
    }
    let mut matched = 0;
    for place in 0..length {
        while matched > 0 && !fits(place, matched) {
            matched = borders[matched - 1] as usize;
        }
        if fits(place, matched) {
            matched += 1;
        }
        if matched == wanted {
            return Some(place + 1 - wanted);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0u8..2, 0..40)
    }

    fn found(bytes: &[u8], wanted: &[u8], at: usize) -> bool {
        bytes.get(at..at + wanted.len()) == Some(wanted)
    }

    proptest! {
        #[test]
        fn searches_find_what_looking_at_each_place_finds(
            bytes in small(), wanted in small(), length in 1usize..5, from in 0usize..45,
        ) {
            let wanted = &wanted[..wanted.len().min(length)];
            let places = |step: usize| (0..=bytes.len()).step_by(step).filter(|at| found(&bytes, wanted, *at));
            if !wanted.is_empty() && from <= bytes.len() {
                prop_assert_eq!(first(&bytes, wanted, from), places(1).find(|at| *at >= from));
                prop_assert_eq!(last(&bytes, wanted, from), places(1).filter(|at| *at <= from).last());
            }
            if !wanted.is_empty() && wanted.len().is_multiple_of(2) && from <= bytes.len() {
                prop_assert_eq!(first_wide(&bytes, wanted, from), places(2).find(|at| *at >= from));
                prop_assert_eq!(last_wide(&bytes, wanted, from), places(2).filter(|at| *at <= from).last());
            }
        }
    }
}
