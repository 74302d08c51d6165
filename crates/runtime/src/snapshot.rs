//! The start-up snapshot: a heap in which all built-in JavaScript has already run, so that a
//! context needs only a copy of memory. It is made in two steps: what has run cold is then warmed
//! up (`js/warm_up.js`), so that the snapshot has the code of a first request, but of that request
//! nothing except the shapes of its objects. The code of rare files (`lazy_code.rs`) comes along
//! for isolates that need it.

use std::ops::Range;
use std::sync::Arc;

use crate::bootstrap::{self, BootstrapError};
use crate::lazy_code;
use crate::platform::Platform;

/// The alignment of code: V8 copies code that is not aligned to it.
const CODE_ALIGN: usize = 8;

/// The index of the list of entry points in the context's data.
pub(crate) const ENTRY: usize = 0;

/// A snapshot, for any number of isolates.
///
/// Its bytes are V8's blob, the codes, their list (the number of a file, the length of its code)
/// and the lengths of the blob and of that list.
#[derive(Clone)]
pub struct Snapshot {
    data: Data,
    blob: usize,
    /// The code of rare files, by file number.
    codes: Arc<[(usize, Range<usize>)]>,
}

#[derive(Clone)]
enum Data {
    Static(&'static [u8]),
    Shared(Arc<[u8]>),
}

impl Snapshot {
    /// A snapshot that was made by [`Snapshot::make`] in a build of the same sources.
    pub fn from_static(bytes: &'static [u8]) -> Self {
        Self::parse(Data::Static(bytes)).expect("the bytes are those of a snapshot")
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
        // A new context of the old snapshot: it shares its functions' code with the one above, and
        // nothing else.
        let result = Self::keep_context(&mut isolate, |scope, _| {
            let entry = bootstrap::entry(scope);
            bootstrap::rehearse(scope, entry).map(|()| entry)
        });
        let warm = Self::finish(isolate, warmed.and(result))?;
        let codes = lazy_code::codes(&warm)?;
        Self::parse(Data::Shared(assemble(warm.bytes(), &codes).into())).ok_or(BootstrapError::NoBlob)
    }

    fn parse(data: Data) -> Option<Self> {
        let bytes = data.bytes();
        let (rest, lengths) = bytes.split_last_chunk::<8>()?;
        let (blob, list) = (number(&lengths[..4])?, number(&lengths[4..])?);
        let list = rest.get(rest.len().checked_sub(list)?..)?;
        let mut end = blob;
        let codes = list.chunks_exact(8).map(|entry| {
            let start = end.next_multiple_of(CODE_ALIGN);
            end = start + number(&entry[4..])?;
            Some((number(&entry[..4])?, start..end))
        });
        let codes = codes.collect::<Option<Arc<[_]>>>()?;
        (end <= bytes.len()).then_some(Self { blob, codes, data })
    }

    /// Makes a context the snapshot's own; `run` prepares it and returns what Rust will call.
    fn keep_context(
        isolate: &mut v8::OwnedIsolate,
        run: impl for<'s> FnOnce(
            &mut v8::PinScope<'s, '_>,
            v8::Local<'s, v8::Context>,
        ) -> Result<v8::Local<'s, v8::Array>, BootstrapError>,
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
        Ok(Self { blob: blob.len(), data: Data::Shared(Arc::from(&*blob)), codes: Arc::default() })
    }

    pub fn bytes(&self) -> &[u8] {
        self.data.bytes()
    }

    pub(crate) fn blob(&self) -> v8::StartupData {
        match &self.data {
            Data::Static(bytes) => bytes[..self.blob].into(),
            Data::Shared(bytes) => bytes[..self.blob].to_vec().into(),
        }
    }

    /// The code of a rare file, if there is any.
    pub(crate) fn code(&self, number: usize) -> Option<&[u8]> {
        let (_, place) = self.codes.iter().find(|(file, _)| *file == number)?;
        self.bytes().get(place.clone())
    }
}

impl Data {
    fn bytes(&self) -> &[u8] {
        match self {
            Data::Static(bytes) => bytes,
            Data::Shared(bytes) => bytes,
        }
    }
}

fn assemble(blob: &[u8], codes: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = blob.to_vec();
    let mut list = Vec::new();
    for (file, code) in codes {
        bytes.resize(bytes.len().next_multiple_of(CODE_ALIGN), 0);
        bytes.extend_from_slice(code);
        list.extend_from_slice(&length(*file));
        list.extend_from_slice(&length(code.len()));
    }
    bytes.extend_from_slice(&list);
    bytes.extend_from_slice(&length(blob.len()));
    bytes.extend_from_slice(&length(list.len()));
    bytes
}

fn length(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("a snapshot is smaller than 4 GiB").to_le_bytes()
}

fn number(bytes: &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
}
