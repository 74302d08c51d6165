//! The immutable table that routes requests. A new catalogue makes a new table.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hearth_apps::routes::{Resolution, RouteTable};
use hearth_core::{AppName, VersionName};

use super::route_cache::TableId;
use super::url_parts::UrlParts;
use super::version::ServedVersion;

pub(super) type ByVersion = HashMap<(AppName, VersionName), Arc<ServedVersion>>;

pub(super) struct RoutingTable {
    pub(super) id: TableId,
    pub(super) routes: RouteTable<Arc<ServedVersion>>,
    pub(super) by_version: ByVersion,
    /// Versions that are being installed. Looked up only where no other route matches, so that an older version is served
    /// until then.
    installing: RouteTable<()>,
}

impl RoutingTable {
    pub(super) fn empty() -> Self {
        let (routes, _) = RouteTable::build(Vec::new(), &[]);
        let (installing, _) = RouteTable::build(Vec::new(), &[]);
        Self::new(routes, HashMap::new(), installing)
    }

    pub(super) fn new(
        routes: RouteTable<Arc<ServedVersion>>,
        by_version: ByVersion,
        installing: RouteTable<()>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: TableId(NEXT.fetch_add(1, Ordering::Relaxed)), routes, by_version, installing }
    }

    pub(super) fn get(&self, app: &AppName, version: &VersionName) -> Option<Arc<ServedVersion>> {
        self.by_version.get(&(app.clone(), version.clone())).cloned()
    }

    /// Whether the URL is for a version that is being installed.
    pub(super) fn is_installing(&self, url: &str) -> bool {
        let UrlParts { host, path, .. } = UrlParts::parse(url);
        matches!(self.installing.resolve(host, path), Resolution::App { .. } | Resolution::AddSlash)
    }
}
