//! Source maps, reduced to what lookups need: sorted positions of 16 bytes each, without source
//! text and names.

use std::sync::Arc;

use hearth_core::module::SourceMap;

/// A map from one generated file to its single source file.
#[derive(Debug)]
pub(super) struct FileMap {
    file: Arc<str>,
    /// Sorted by generated position.
    points: Box<[Point]>,
}

/// 0-based; columns in UTF-16 units, as V8 counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub generated: (u32, u32),
    pub original: (u32, u32),
}

// === impl FileMap ===

impl FileMap {
    pub fn new(file: &str, points: impl Iterator<Item = Point>) -> Self {
        let mut points: Box<[Point]> = points.collect();
        points.sort_unstable();
        Self { file: file.into(), points }
    }
}

impl SourceMap for FileMap {
    /// The nearest mapped position at or before, on the same line.
    fn original(&self, line: u32, column: u32) -> Option<(String, u32, u32)> {
        let after = self.points.partition_point(|point| point.generated <= (line, column));
        let point = self.points[..after].last().filter(|point| point.generated.0 == line)?;
        Some((self.file.to_string(), point.original.0, point.original.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_before_on_the_line() {
        let point = |generated, original| Point { generated, original };
        let map =
            FileMap::new("/a.ts", [point((1, 4), (7, 2)), point((0, 0), (3, 0)), point((1, 9), (8, 0))].into_iter());
        assert_eq!(map.original(0, 99), Some(("/a.ts".into(), 3, 0)));
        assert_eq!(map.original(1, 3), None);
        assert_eq!(map.original(1, 8), Some(("/a.ts".into(), 7, 2)));
        assert_eq!(map.original(1, 9), Some(("/a.ts".into(), 8, 0)));
        assert_eq!(map.original(2, 0), None);
    }
}
