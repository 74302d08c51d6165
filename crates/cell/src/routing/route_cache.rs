//! The route of the last request on this thread. Most requests are for the same app as the one before, and are routed without a
//! lookup in the table. A route depends on the table, on the URL's host and, where the host belongs to no app, on its path up to
//! the slash behind the app's name: if all of these are equal, the version is.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::version::ServedVersion;

/// Identifies a table; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableId(pub(super) u64);

struct RouteCache<T> {
    route: Option<CachedRoute<T>>,
}

struct CachedRoute<T> {
    table: TableId,
    /// The prefix of the URL up to the slash behind the host, or behind the app's name.
    start: String,
    /// Where in it the app's base is; empty where the host belongs to the app.
    base: Range<usize>,
    /// Weak, so that the cache keeps no version alive.
    target: Weak<T>,
}

thread_local! {
    static LAST: RefCell<RouteCache<ServedVersion>> = const { RefCell::new(RouteCache { route: None }) };
}

/// The version that `url` is for, and where in it its base is, if the last request was for the same version.
pub(super) fn lookup(table: TableId, url: &str) -> Option<(Arc<ServedVersion>, Range<usize>)> {
    LAST.with_borrow(|last| last.lookup(table, url))
}

/// `url` was routed to `target`. Its base begins where its path does.
pub(super) fn store(table: TableId, url: &str, base: Range<usize>, target: &Arc<ServedVersion>) {
    LAST.with_borrow_mut(|last| last.store(table, url, base, target));
}

impl<T> RouteCache<T> {
    fn lookup(&self, table: TableId, url: &str) -> Option<(Arc<T>, Range<usize>)> {
        let route = self.route.as_ref().filter(|route| route.table == table)?;
        let rest = url.strip_prefix(&*route.start)?;
        // Paths that begin with an underscore are reserved on an app's host.
        if route.base.is_empty() && rest.starts_with('_') {
            return None;
        }
        Some((route.target.upgrade()?, route.base.clone()))
    }

    fn store(&mut self, table: TableId, url: &str, base: Range<usize>, target: &Arc<T>) {
        let Some(start) = url.get(..base.end + 1).filter(|start| start.ends_with('/')) else { return };
        let mut text = self.route.take().map(|route| route.start).unwrap_or_default();
        text.clear();
        text.push_str(start);
        self.route = Some(CachedRoute { table, start: text, base, target: Arc::downgrade(target) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: TableId = TableId(7);

    fn finds(cache: &RouteCache<&'static str>, url: &str) -> Option<(&'static str, Range<usize>)> {
        cache.lookup(NOW, url).map(|(app, base)| (*app, base))
    }

    #[test]
    fn only_urls_with_the_same_prefix_have_the_cached_route() {
        let app = Arc::new("app");
        let mut cache = RouteCache { route: None };
        cache.store(NOW, "http://h/shop@1/x?y", 8..15, &app);
        for same in ["http://h/shop@1/", "http://h/shop@1/_hearth", "http://h/shop@1//?"] {
            assert_eq!(finds(&cache, same), Some(("app", 8..15)), "{same}");
        }
        for other in ["http://h/shop@1", "http://h/shop@12/", "http://hh/shop@1/", "https://h/shop@1/", "http://h/", ""]
        {
            assert_eq!(finds(&cache, other), None, "{other}");
        }
        cache.store(NOW, "http://h/", 8..8, &app);
        assert_eq!(finds(&cache, "http://h/shop@1/"), Some(("app", 8..8)));
        for other in ["http://h", "http://h?x", "http://h.i/", "http://h/_hearth/x"] {
            assert_eq!(finds(&cache, other), None, "{other}");
        }
        cache.store(NOW, "http://i?x", 8..8, &app);
        assert_eq!(finds(&cache, "http://i?x"), None, "the URL has no slash");
    }

    #[test]
    fn another_table_or_a_dropped_version_is_a_miss() {
        let app = Arc::new("app");
        let mut cache = RouteCache { route: None };
        cache.store(NOW, "http://h/a/", 8..10, &app);
        assert!(cache.lookup(NOW, "http://h/a/").is_some());
        assert!(cache.lookup(TableId(8), "http://h/a/").is_none());
        drop(app);
        assert!(cache.lookup(NOW, "http://h/a/").is_none());
    }
}
