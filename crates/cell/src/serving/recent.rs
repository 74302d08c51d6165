//! The way that the last request on this thread was led: most are for the same app as the one before, and are led there
//! without a table being asked. What an address means depends on the table, on its host and, where the host is no app's, on
//! its path up to the slash behind the app's name: where all of that is the same, the version is.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::served::Served;

/// Names a table. Never given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableNumber(pub(super) u64);

struct Recent<T> {
    way: Option<Way<T>>,
}

struct Way<T> {
    table: TableNumber,
    /// What the url begins with, up to a slash: behind the host, or behind the app's name.
    start: String,
    /// Where in it the app's base is; empty where the host is the app's.
    base: Range<usize>,
    /// Who was led here last keeps no version alive.
    to: Weak<T>,
}

thread_local! {
    static LAST: RefCell<Recent<Served>> = const { RefCell::new(Recent { way: None }) };
}

/// The version that `url` is for, and where in it its base is, if the last one was for the same.
pub(super) fn recall(table: TableNumber, url: &str) -> Option<(Arc<Served>, Range<usize>)> {
    LAST.with_borrow(|last| last.recall(table, url))
}

/// `url` was led to `to`. Its base begins where its path does.
pub(super) fn note(table: TableNumber, url: &str, base: Range<usize>, to: &Arc<Served>) {
    LAST.with_borrow_mut(|last| last.note(table, url, base, to));
}

impl<T> Recent<T> {
    fn recall(&self, table: TableNumber, url: &str) -> Option<(Arc<T>, Range<usize>)> {
        let way = self.way.as_ref().filter(|way| way.table == table)?;
        let rest = url.strip_prefix(&*way.start)?;
        // Behind a host there may be what Hearth keeps for itself.
        if way.base.is_empty() && rest.starts_with('_') {
            return None;
        }
        Some((way.to.upgrade()?, way.base.clone()))
    }

    fn note(&mut self, table: TableNumber, url: &str, base: Range<usize>, to: &Arc<T>) {
        let Some(start) = url.get(..base.end + 1).filter(|start| start.ends_with('/')) else { return };
        let mut text = self.way.take().map(|way| way.start).unwrap_or_default();
        text.clear();
        text.push_str(start);
        self.way = Some(Way { table, start: text, base, to: Arc::downgrade(to) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: TableNumber = TableNumber(7);

    fn finds(recent: &Recent<&'static str>, url: &str) -> Option<(&'static str, Range<usize>)> {
        recent.recall(NOW, url).map(|(app, base)| (*app, base))
    }

    #[test]
    fn only_what_begins_the_same_is_led_the_same_way() {
        let app = Arc::new("app");
        let mut recent = Recent { way: None };
        recent.note(NOW, "http://h/shop@1/x?y", 8..15, &app);
        for same in ["http://h/shop@1/", "http://h/shop@1/_hearth", "http://h/shop@1//?"] {
            assert_eq!(finds(&recent, same), Some(("app", 8..15)), "{same}");
        }
        for other in ["http://h/shop@1", "http://h/shop@12/", "http://hh/shop@1/", "https://h/shop@1/", "http://h/", ""]
        {
            assert_eq!(finds(&recent, other), None, "{other}");
        }
        recent.note(NOW, "http://h/", 8..8, &app);
        assert_eq!(finds(&recent, "http://h/shop@1/"), Some(("app", 8..8)));
        for other in ["http://h", "http://h?x", "http://h.i/", "http://h/_hearth/x"] {
            assert_eq!(finds(&recent, other), None, "{other}");
        }
        recent.note(NOW, "http://i?x", 8..8, &app);
        assert_eq!(finds(&recent, "http://i?x"), None, "there is no slash");
    }

    #[test]
    fn another_table_or_a_version_that_is_gone_is_asked_for() {
        let app = Arc::new("app");
        let mut recent = Recent { way: None };
        recent.note(NOW, "http://h/a/", 8..10, &app);
        assert!(recent.recall(NOW, "http://h/a/").is_some());
        assert!(recent.recall(TableNumber(8), "http://h/a/").is_none());
        drop(app);
        assert!(recent.recall(NOW, "http://h/a/").is_none());
    }
}
