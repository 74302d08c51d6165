//! A cache of one value, for what a connection usually repeats: its request heads and its response heads. The last value is
//! kept, unless the last five were all new: then the connection does not repeat itself, and nothing is kept until it does.
//! Connections that send one request pay for no copy, since the first value is never kept.

/// After so many values in a row that were new, none is kept.
pub const MAX_MISSES: u8 = 4;

#[derive(Debug)]
pub struct RepeatCache<T> {
    value: Option<Box<T>>,
    /// Values in a row that were unlike those before. The first one always is.
    misses: u8,
}

impl<T> RepeatCache<T> {
    /// What `find` makes of the kept value; `None` if it is another one, or there is none.
    #[inline]
    pub fn lookup<R>(&mut self, find: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let found = self.value.as_mut().and_then(|value| find(value))?;
        self.misses = 0;
        Some(found)
    }

    /// A value was new. `make` makes what is kept of it, where it can be kept.
    #[inline]
    pub fn insert(&mut self, make: impl FnOnce() -> Option<Box<T>>) {
        if self.misses > 0 {
            self.value = if self.misses <= MAX_MISSES { make() } else { None };
        }
        self.misses = self.misses.saturating_add(1);
    }

    #[cfg(test)]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.as_deref_mut()
    }
}

impl<T> Default for RepeatCache<T> {
    fn default() -> Self {
        Self { value: None, misses: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &mut RepeatCache<u8>, value: u8) -> bool {
        let found = cache.lookup(|kept| (*kept == value).then_some(())).is_some();
        if !found {
            cache.insert(|| Some(Box::new(value)));
        }
        found
    }

    #[test]
    fn the_second_of_equal_values_is_kept() {
        let mut cache = RepeatCache::default();
        assert!(!put(&mut cache, 7) && cache.get_mut().is_none(), "the first may stay the only one");
        assert!(!put(&mut cache, 7) && put(&mut cache, 7) && put(&mut cache, 7));
    }

    #[test]
    fn nothing_is_kept_of_values_that_are_all_new() {
        let mut cache = RepeatCache::default();
        for value in 0..10 {
            assert!(!put(&mut cache, value));
            assert_eq!(cache.get_mut().is_some(), (1..=MAX_MISSES).contains(&value), "{value}");
        }
    }
}
