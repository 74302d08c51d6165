//! What the operating system does for Hearth's walls. So far: the page of breadcrumbs that outlives a crash.

pub mod breadcrumbs;
