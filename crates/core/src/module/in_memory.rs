//! Modules that are given as text, for code without a folder. Besides built-in modules, they can import each other and nothing
//! else.

use std::sync::Arc;

use super::{ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleLoader, ModuleSource};

#[derive(Debug)]
pub struct InMemory {
    entry: Arc<ModuleSource>,
    /// What can be imported, by its id.
    others: Vec<Arc<ModuleSource>>,
    /// The error for any other import, with the remedy.
    import_error: &'static str,
}

impl InMemory {
    /// Each module as its id and its text.
    pub fn new(entry: (&str, String), others: Vec<(&str, String)>, import_error: &'static str) -> Self {
        let module = |(id, text): (&str, String)| {
            Arc::new(ModuleSource { id: ModuleId::new(id), code: ModuleCode::Module(text.into()), source_map: None })
        };
        Self { entry: module(entry), others: others.into_iter().map(module).collect(), import_error }
    }
}

impl ModuleLoader for InMemory {
    fn entry(&self) -> ModuleId {
        self.entry.id.clone()
    }

    fn resolve(&self, specifier: &str, from: &ModuleId, _: ImportStyle) -> Result<ModuleId, ModuleError> {
        if let Some(id) = hearth_node::resolve(specifier) {
            return Ok(ModuleId::new(id));
        }
        match specifier {
            "hearth:inspect" => Ok(ModuleId::new(specifier)),
            _ => match self.others.iter().find(|module| module.id.as_str() == specifier) {
                Some(module) => Ok(module.id.clone()),
                None => Err(ModuleError::NotFound {
                    specifier: specifier.to_owned(),
                    from: from.to_string(),
                    reason: self.import_error.to_owned(),
                }),
            },
        }
    }

    fn load(&self, id: &ModuleId, _: ImportType) -> Result<Arc<ModuleSource>, ModuleError> {
        if id.is_built_in() {
            return Ok(Arc::new(ModuleSource { id: id.clone(), code: ModuleCode::BuiltIn, source_map: None }));
        }
        let other = self.others.iter().find(|module| module.id == *id);
        Ok(other.unwrap_or(&self.entry).clone())
    }
}
