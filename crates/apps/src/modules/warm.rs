//! Loading an app ahead of its first request: after this, what the request's imports need is in memory.
//!
//! First the part of the graph that must be there for the app to start; an error in it is an error of the app. Then what
//! `require` and `import()` with a literal may ask for; an error there may never be met, or be caught, so it is passed
//! over, and met again if the app gets there.

use std::collections::HashSet;
use std::sync::Arc;

use hearth_core::module::{ImportType, ModuleError, ModuleId, ModuleLoader};

use super::app::{AppModules, Module};
use super::survey::{Import, Need};

struct Walk<'a> {
    app: &'a AppModules,
    seen: HashSet<(ModuleId, ImportType)>,
    loaded: usize,
    /// Imports that need not succeed, and the module that asks.
    later: Vec<(ModuleId, Import)>,
}

/// What is wrong with an app's modules.
#[derive(Clone, Debug)]
pub struct Fault {
    pub error: ModuleError,
    pub grade: Grade,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// The app does not load.
    Fatal,
    /// What `require` or `import()` asks for: the app may never get there, or catch it.
    Possible,
}

// === impl AppModules ===

impl AppModules {
    /// Loads all that the entry leads to and tells how many modules that is. Blocks; meant for when an app is deployed.
    pub fn warm(&self) -> Result<usize, ModuleError> {
        let mut walk = Walk { app: self, seen: HashSet::new(), loaded: 0, later: Vec::new() };
        walk.follow(self.entry(), ImportType::Default)?;
        while let Some((from, import)) = walk.later.pop() {
            if let Ok(id) = self.resolve(&import.specifier, &from, import.style) {
                // A failure leaves the rest of that branch unread, which is all it does.
                let _ = walk.follow(id, import.kind);
            }
        }
        Ok(walk.loaded)
    }

    /// All that is wrong with what the entry leads to. Blocks; for who wants to mend it.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = Vec::new();
        let mut seen = HashSet::new();
        let mut open = vec![(self.entry(), ImportType::Default, Grade::Fatal)];
        let mut later = Vec::new();
        // What must be there comes first, so that what is reached both ways is fatal.
        while let Some((id, kind, grade)) = open.pop().or_else(|| later.pop()) {
            if !seen.insert((id.clone(), kind)) {
                continue;
            }
            let module = match self.module(&id, kind) {
                Ok(module) => module,
                Err(error) => {
                    faults.push(Fault { error, grade });
                    continue;
                }
            };
            for import in &module.imports {
                let grade = if import.need == Need::Always { grade } else { Grade::Possible };
                match self.resolve(&import.specifier, &id, import.style) {
                    Ok(id) if grade == Grade::Fatal => open.push((id, import.kind, grade)),
                    Ok(id) => later.push((id, import.kind, grade)),
                    Err(error) => faults.push(Fault { error, grade }),
                }
            }
        }
        faults.sort_by_key(|fault| fault.grade != Grade::Fatal);
        faults
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// A module and all that it imports statically.
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
