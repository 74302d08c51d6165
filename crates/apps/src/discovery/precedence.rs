//! Decides which of several folders of the same version is served: the one in the first root; in a
//! root a flat one before a nested one before a plain one; then the first by path. The order of
//! discovery does not matter.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use hearth_core::AppName;

use super::find::{Found, Layout};
use super::problem::{DiscoveryCause, DiscoveryProblem};
use crate::versions::AppVersion;

/// A version that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedFolder {
    pub name: AppName,
    pub version: AppVersion,
    pub layout: Layout,
    pub folder: PathBuf,
    pub root: usize,
}

/// Takes folders with their versions: that of the folder's name, or for plain folders that of the
/// manifest or `package.json`, or `latest`. The result is sorted by precedence.
pub fn resolve_precedence(mut all: Vec<(Found, AppVersion)>) -> (Vec<ServedFolder>, Vec<DiscoveryProblem>) {
    all.sort_by(|(a, _), (b, _)| (a.root, a.layout, &a.folder).cmp(&(b.root, b.layout, &b.folder)));
    let (mut settled, mut problems) = (Vec::<ServedFolder>::with_capacity(all.len()), Vec::new());
    let mut places = HashMap::with_capacity(all.len());
    for (found, version) in all {
        let Found { name, layout, folder, root, .. } = found;
        match places.entry((name.clone(), version.clone())) {
            Entry::Vacant(place) => {
                place.insert(settled.len());
                settled.push(ServedFolder { name, version, layout, folder, root });
            }
            Entry::Occupied(place) => {
                let served = &settled[*place.get()].folder;
                // The same folder by two paths (a root named twice, a link beside it) is not a
                // conflict.
                if *served != folder {
                    problems.push(DiscoveryProblem::new(
                        folder,
                        DiscoveryCause::Collision { name, version, served: served.clone() },
                    ));
                }
            }
        }
    }
    (settled, problems)
}
