//! The difference of two texts of `hearth.yaml` by key, reported when the file is reloaded.
//! Comments, order and layout do not count. `apps` is compared app by app.

use crate::yaml::{self, Key, Node, Value};

/// Keys whose values differ, sorted: `domains`, `apps.shop`. An unreadable text has no keys.
pub fn changed_keys(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (entries_of(before), entries_of(after));
    let mut changed = Vec::new();
    for key in differing(&before, &after) {
        match key.as_str() {
            "apps" => {
                let (before, after) = (below(&before, &key), below(&after, &key));
                changed.extend(differing(&before, &after).into_iter().map(|name| format!("apps.{name}")));
            }
            _ => changed.push(key),
        }
    }
    changed.sort();
    changed
}

fn differing(before: &[(Key, Node)], after: &[(Key, Node)]) -> Vec<String> {
    let mut keys: Vec<&str> = before.iter().chain(after).map(|(key, _)| key.name.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    let differ = |key: &&str| match (find(before, key), find(after, key)) {
        (Some(before), Some(after)) => !says_the_same(before, after),
        // A missing value is equal to an empty one.
        (Some(one), None) | (None, Some(one)) => !one.is_null(),
        (None, None) => false,
    };
    keys.into_iter().filter(differ).map(str::to_owned).collect()
}

fn entries_of(text: &str) -> Vec<(Key, Node)> {
    match yaml::parse(text).ok().and_then(|document| document.root) {
        Some(Node { value: Value::Map(entries), .. }) => entries,
        _ => Vec::new(),
    }
}

fn below(entries: &[(Key, Node)], key: &str) -> Vec<(Key, Node)> {
    match find(entries, key) {
        Some(Node { value: Value::Map(entries), .. }) => entries.clone(),
        _ => Vec::new(),
    }
}

fn find<'a>(entries: &'a [(Key, Node)], key: &str) -> Option<&'a Node> {
    entries.iter().find(|(entry, _)| entry.name == key).map(|(_, node)| node)
}

/// Positions are not compared.
fn says_the_same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Plain(one), Value::Plain(other)) | (Value::Quoted(one), Value::Quoted(other)) => one == other,
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| says_the_same(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            let has = |(key, node): &(Key, Node)| find(other, &key.name).is_some_and(|it| says_the_same(node, it));
            one.len() == other.len() && one.iter().all(has)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_keys_are_listed_and_layout_is_ignored() {
        let before =
            "threads: 2\ndomains: [a.example]\napps:\n  shop: { memory: 64mb }\n  blog: { cpu: 1s, memory: 1mb }\n";
        let same = "# by hand\napps: { blog: { memory: 1mb, cpu: 1s }, shop: { memory: 64mb } }\ndomains:\n  - a.example\nthreads: 2\nspares:\n";
        assert!(changed_keys(before, same).is_empty(), "{:?}", changed_keys(before, same));
        let other =
            "threads: 3\napps:\n  shop: { memory: 65mb }\n  blog: { cpu: 1s, memory: 1mb }\n  new: {}\nspares: 1\n";
        assert_eq!(changed_keys(before, other), ["apps.new", "apps.shop", "domains", "spares", "threads"]);
        assert_eq!(changed_keys(before, ""), ["apps.blog", "apps.shop", "domains", "threads"]);
        assert!(changed_keys("", "").is_empty());
        assert!(changed_keys("threads: [", "- a list").is_empty());
    }
}
