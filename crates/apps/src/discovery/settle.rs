//! Which folder is served where several are the same version of the same app: the one in the first root; there a flat one
//! before a nested one before a plain one; there the first by path. The order in which they were found does not matter.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use hearth_core::AppName;

use super::find::{Found, Layout};
use super::problem::{Cause, Problem};
use crate::versions::AppVersion;

/// One version that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    pub name: AppName,
    pub version: AppVersion,
    pub layout: Layout,
    pub folder: PathBuf,
    pub root: usize,
}

/// Takes what was found, each with its version: that of the folder's name, or for plain folders that of the manifest or of
/// `package.json`, or `latest`. What comes out is sorted by right.
pub fn settle(mut all: Vec<(Found, AppVersion)>) -> (Vec<Settled>, Vec<Problem>) {
    all.sort_by(|(a, _), (b, _)| (a.root, a.layout, &a.folder).cmp(&(b.root, b.layout, &b.folder)));
    let (mut settled, mut problems) = (Vec::<Settled>::with_capacity(all.len()), Vec::new());
    let mut places = HashMap::with_capacity(all.len());
    for (found, version) in all {
        let Found { name, layout, folder, root, .. } = found;
        match places.entry((name.clone(), version.clone())) {
            Entry::Vacant(place) => {
                place.insert(settled.len());
                settled.push(Settled { name, version, layout, folder, root });
            }
            Entry::Occupied(place) => {
                let served = &settled[*place.get()].folder;
                // The same folder by two ways (a root that is named twice, a link beside it) is no conflict.
                if *served != folder {
                    problems.push(Problem::new(folder, Cause::Collision { name, version, served: served.clone() }));
                }
            }
        }
    }
    (settled, problems)
}
