//! The start-up snapshot: a heap in which all built-in JavaScript has already run, so that a context made from it needs
//! no more than memory to be copied. Made in two steps: what has run cold is then warmed up (`js/warm_up.js`), so that the
//! code of a first request is in it, but nothing of what that request did.

use std::sync::Arc;

use crate::bootstrap::{self, BootstrapError};
use crate::platform::Platform;

/// The place of `main.js`'s exports among the context's data in the snapshot.
pub(crate) const ENTRY: usize = 0;

/// A snapshot, for any number of isolates.
#[derive(Clone)]
pub struct Snapshot {
    data: Data,
}

#[derive(Clone)]
enum Data {
    Static(&'static [u8]),
    Shared(Arc<[u8]>),
}

impl Snapshot {
    /// A snapshot that was made by [`Snapshot::make`] in a build of the same sources.
    pub fn from_static(bytes: &'static [u8]) -> Self {
        Self { data: Data::Static(bytes) }
    }

    /// Runs all built-in JavaScript and keeps the heap that results.
    pub fn make(_platform: Platform) -> Result<Self, BootstrapError> {
        let cold = {
            let mut isolate = v8::Isolate::snapshot_creator(Some(bootstrap::external_references()), None);
            let result = Self::keep_context(&mut isolate, bootstrap::run);
            Self::finish(isolate, result)?
        };
        let references = Some(bootstrap::external_references());
        let mut isolate = v8::Isolate::snapshot_creator_from_existing_snapshot(cold.blob(), references, None);
        let warmed = {
            v8::scope!(let scope, &mut isolate);
            let context = v8::Context::new(scope, v8::ContextOptions::default());
            let scope = &mut v8::ContextScope::new(scope, context);
            bootstrap::warm_up(scope)
        };
        // A new context of the old snapshot: it shares its functions' code with the one above, and nothing else.
        let result = Self::keep_context(&mut isolate, |scope, _| Ok(bootstrap::entry(scope)));
        Self::finish(isolate, warmed.and(result))
    }

    /// Makes a context the one that the snapshot is of; `run` prepares it and gives what Rust will call.
    fn keep_context(
        isolate: &mut v8::OwnedIsolate,
        run: impl for<'s> FnOnce(
            &mut v8::PinScope<'s, '_>,
            v8::Local<'s, v8::Context>,
        ) -> Result<v8::Local<'s, v8::Object>, BootstrapError>,
    ) -> Result<(), BootstrapError> {
        v8::scope!(let scope, isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        let scope = &mut v8::ContextScope::new(scope, context);
        let result = run(scope, context).map(|entry| {
            let index = scope.add_context_data(context, entry);
            assert_eq!(index, ENTRY, "the entry points are the context's first data");
        });
        scope.set_default_context(context);
        result
    }

    /// A creator must make its blob even when there is nothing to keep.
    fn finish(isolate: v8::OwnedIsolate, result: Result<(), BootstrapError>) -> Result<Self, BootstrapError> {
        let blob = isolate.create_blob(v8::FunctionCodeHandling::Keep);
        result?;
        let blob = blob.ok_or(BootstrapError::NoBlob)?;
        Ok(Self { data: Data::Shared(Arc::from(&*blob)) })
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Static(bytes) => bytes,
            Data::Shared(bytes) => bytes,
        }
    }

    pub(crate) fn blob(&self) -> v8::StartupData {
        match &self.data {
            Data::Static(bytes) => (*bytes).into(),
            Data::Shared(bytes) => bytes.to_vec().into(),
        }
    }
}
