//! Breadcrumbs, which trace a crash to its app: in a file for the operator, or in a memory page that control shares.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use hearth_crash::breadcrumbs::{BreadcrumbError, Breadcrumbs};
use hearth_crash::crash_handler::{self, CrashHooks};

/// Threads that breadcrumbs are kept for.
const MAX_THREADS: usize = 255;

#[derive(Debug, thiserror::Error)]
pub enum CrashBreadcrumbsError {
    #[error("the file cannot be written: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    Page(#[from] BreadcrumbError),
}

/// From now on `file` has what each thread is running. Its previous contents, of a process that has ended, are renamed to the
/// same name with `.1` at its end.
pub fn record_breadcrumbs_in_file(file: &Path) -> Result<(), CrashBreadcrumbsError> {
    let mut before = file.as_os_str().to_owned();
    before.push(".1");
    // There may be no previous file.
    let _ = std::fs::rename(file, before);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(file)?;
    hearth_runtime::Platform::set_breadcrumbs(Breadcrumbs::in_file(MAX_THREADS, &file)?);
    Ok(())
}

/// From now on `page` has what each thread is running, and which one crashed the process; the reader of `alarm` is notified at
/// that moment.
pub(crate) fn record_breadcrumbs_in_page(page: OwnedFd, alarm: OwnedFd) -> Result<(), CrashBreadcrumbsError> {
    let page = Breadcrumbs::in_file(MAX_THREADS, &File::from(page))?;
    hearth_runtime::Platform::set_breadcrumbs(page.clone());
    let hooks =
        CrashHooks { write_request_id: hearth_runtime::running_request, attribute: hearth_runtime::attribute_oom };
    Ok(crash_handler::install(page, alarm, hooks)?)
}
