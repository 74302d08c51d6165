//! An app's modules in one context: compiled, linked and evaluated. The loader decides which code
//! belongs to a name; here every module is compiled once per context and found by its name or by
//! V8's identity hash.

mod compile;
mod import;
mod synthetic;

use std::collections::HashMap;
use std::sync::Arc;

use hearth_core::module::{ImportType, ModuleId, ModuleSource};

use crate::code_cache::CacheKey;

pub(crate) use compile::{Started, compile_built_in, compile_entry, compile_function, is_compiled, start_entry};
pub(crate) use import::{import_dynamically, initialize_import_meta};
pub(crate) use synthetic::evaluate_for_require;

#[derive(Default)]
pub(crate) struct ModuleMap {
    by_name: HashMap<(ModuleId, ImportType), v8::Global<v8::Module>>,
    /// V8's identity hashes are not unique: a few modules may share one.
    by_hash: HashMap<i32, Vec<Known>>,
    /// For mapping positions.
    sources: HashMap<String, Arc<ModuleSource>>,
    /// Compiled from source: to be stored in the code cache once they have run.
    uncached: Vec<Uncached>,
}

struct Known {
    module: v8::Global<v8::Module>,
    id: ModuleId,
    kind: ImportType,
    /// What its imports resolve to.
    imports: HashMap<(String, ImportType), ModuleId>,
}

/// Code that the cache does not have yet.
pub(crate) enum Uncached {
    Module(CacheKey, v8::Global<v8::Module>),
    Script(CacheKey, v8::Global<v8::UnboundScript>),
    Function(CacheKey, v8::Global<v8::Function>),
}

impl ModuleMap {
    fn find(&self, id: &ModuleId, kind: ImportType) -> Option<v8::Global<v8::Module>> {
        self.by_name.get(&(id.clone(), kind)).cloned()
    }

    fn insert(&mut self, hash: i32, known: Known) {
        self.by_name.insert((known.id.clone(), known.kind), known.module.clone());
        self.by_hash.entry(hash).or_default().push(known);
    }

    fn known(&self, hash: i32, module: &v8::Global<v8::Module>) -> Option<&Known> {
        self.by_hash.get(&hash)?.iter().find(|known| known.module == *module)
    }

    fn set_imports(
        &mut self,
        hash: i32,
        module: &v8::Global<v8::Module>,
        imports: HashMap<(String, ImportType), ModuleId>,
    ) {
        if let Some(known) =
            self.by_hash.get_mut(&hash).and_then(|list| list.iter_mut().find(|known| known.module == *module))
        {
            known.imports = imports;
        }
    }

    fn add_source(&mut self, source: &Arc<ModuleSource>) {
        self.sources.insert(source.id.to_string(), source.clone());
    }

    /// The original position of what V8 sees at a position (both 1-based, as V8 counts in stack
    /// traces).
    pub(crate) fn original(&self, file: &str, line: u32, column: u32) -> Option<(String, u32, u32)> {
        let source = self.sources.get(file.strip_prefix("file://").unwrap_or(file))?;
        let map = source.source_map.as_ref()?;
        let (file, line, column) = map.original(line.checked_sub(1)?, column.checked_sub(1)?)?;
        Some((file, line + 1, column + 1))
    }

    /// The number of V8 handles in here.
    pub(crate) fn handles(&self) -> usize {
        self.by_name.len() + self.by_hash.values().map(Vec::len).sum::<usize>() + self.uncached.len()
    }

    pub(crate) fn add_uncached(&mut self, code: Uncached) {
        self.uncached.push(code);
    }

    pub(crate) fn has_uncached(&self) -> bool {
        !self.uncached.is_empty()
    }

    pub(crate) fn take_uncached(&mut self) -> Vec<Uncached> {
        std::mem::take(&mut self.uncached)
    }
}
