//! Where breadcrumbs are kept, so that a crash can be traced to its app: in a file that somebody reads later, or in a page
//! that control has too.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use hearth_crash::breadcrumbs::{BreadcrumbError, Breadcrumbs};
use hearth_crash::crash_handler::{self, CrashHooks};

/// Threads that breadcrumbs are kept for.
const THREADS: usize = 255;

#[derive(Debug, thiserror::Error)]
pub enum CrumbsError {
    #[error("the file cannot be written: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    Page(#[from] BreadcrumbError),
}

/// From now on `file` says what each thread is running. What it said before, of a process that is gone, is beside it, with
/// `.1` at the end of its name.
pub fn keep_breadcrumbs(file: &Path) -> Result<(), CrumbsError> {
    let mut before = file.as_os_str().to_owned();
    before.push(".1");
    // There may be none.
    let _ = std::fs::rename(file, before);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(file)?;
    hearth_runtime::Platform::set_breadcrumbs(Breadcrumbs::in_file(THREADS, &file)?);
    Ok(())
}

/// From now on `page` says what each thread is running, and which one brought the process down; who listens at the other
/// end of `alarm` is told at that moment.
pub(crate) fn share_breadcrumbs(page: OwnedFd, alarm: OwnedFd) -> Result<(), CrumbsError> {
    let page = Breadcrumbs::in_file(THREADS, &File::from(page))?;
    hearth_runtime::Platform::set_breadcrumbs(page.clone());
    let hooks =
        CrashHooks { write_request_id: hearth_runtime::running_request, attribute: hearth_runtime::attribute_oom };
    Ok(crash_handler::install(page, alarm, hooks)?)
}
