//! Loads an app before its first request: afterwards, the modules that requests import are in
//! memory.
//!
//! First the part of the graph that is required for the app to start; an error in it is an error of
//! the app. Then the modules of `require` and `import()` with a literal; their errors are skipped,
//! since the code may never run or may catch them.

use std::collections::HashSet;
use std::sync::Arc;

use hearth_core::module::{ImportType, ModuleError, ModuleId, ModuleLoader};

use super::app::{AppModules, Module};
use super::scan::{Import, Need};

struct Walk<'a> {
    app: &'a AppModules,
    seen: HashSet<(ModuleId, ImportType)>,
    loaded: usize,
    /// Imports that need not succeed, and the importing module.
    later: Vec<(ModuleId, Import)>,
}

/// An error in an app's modules.
#[derive(Clone, Debug)]
pub struct ModuleFault {
    pub error: ModuleError,
    pub grade: Grade,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// The app does not load.
    Fatal,
    /// The specifier of a `require` or `import()` that may never run or be caught.
    Possible,
}

// === impl AppModules ===

impl AppModules {
    /// Loads all modules that the entry leads to and returns their number. Blocks; meant for
    /// deployment.
    pub fn preload(&self) -> Result<usize, ModuleError> {
        let mut walk = Walk { app: self, seen: HashSet::new(), loaded: 0, later: Vec::new() };
        walk.follow(self.entry(), ImportType::Default)?;
        while let Some((from, import)) = walk.later.pop() {
            if let Ok(id) = self.resolve(&import.specifier, &from, import.style) {
                // A failure leaves the rest of that branch unread.
                let _ = walk.follow(id, import.kind);
            }
        }
        Ok(walk.loaded)
    }

    /// All errors in the modules that the entry leads to. Blocks; for `hearth check`.
    pub fn faults(&self) -> Vec<ModuleFault> {
        let mut faults: Vec<ModuleFault> = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![(self.entry(), ImportType::Default, Grade::Fatal)];
        let mut later = Vec::new();
        // Required modules come first, so that a module reached both ways is fatal.
        while let Some((id, kind, grade)) = open.pop().or_else(|| later.pop()) {
            if !seen.insert((id.clone(), kind)) {
                continue;
            }
            let module = match self.module(&id, kind) {
                Ok(module) => module,
                Err(error) => {
                    faults.push(ModuleFault { error, grade });
                    continue;
                }
            };
            for import in &module.imports {
                let grade = if import.need == Need::Always { grade } else { Grade::Possible };
                match self.resolve(&import.specifier, &id, import.style) {
                    Ok(id) if grade == Grade::Fatal => open.push((id, import.kind, grade)),
                    Ok(id) => later.push((id, import.kind, grade)),
                    Err(error) => faults.push(ModuleFault { error, grade }),
                }
            }
        }
        faults.sort_by_key(|fault| fault.grade != Grade::Fatal);
        faults
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// A module and all its static imports.
    fn follow(&mut self, id: ModuleId, kind: ImportType) -> Result<(), ModuleError> {
        let mut open = vec![(id, kind)];
        while let Some((id, kind)) = open.pop() {
            if !self.seen.insert((id.clone(), kind)) {
                continue;
            }
            let module: Arc<Module> = self.app.module(&id, kind)?;
            self.loaded += 1;
            for import in &module.imports {
                match import.need {
                    Need::Always => open.push((self.app.resolve(&import.specifier, &id, import.style)?, import.kind)),
                    Need::Perhaps => self.later.push((id.clone(), import.clone())),
                }
            }
        }
        Ok(())
    }
}
