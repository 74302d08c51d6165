//! Built-in modules for apps: helpers of transpiled code, and the empty module for `"browser":
//! {"fs": false}`. They are CommonJS, which can be imported and required.
//!
//! Their ids are below `/hearth:/`, where no file of an app is looked up.

use std::sync::Arc;

use hearth_core::module::{ModuleCode, ModuleId, ModuleSource};

/// Transpiled code imports `{HELPERS}/helpers/{name}`.
pub(super) const HELPERS: &str = "hearth:transpiled";

const EMPTY: &str = "/hearth:/empty.cjs";

/// Specifier, id, code.
const MODULES: [(&str, &str, &str); 3] = [
    ("hearth:transpiled/helpers/decorate", "/hearth:/decorate.cjs", include_str!("helpers/decorate.cjs")),
    (
        "hearth:transpiled/helpers/decorateParam",
        "/hearth:/decorateParam.cjs",
        include_str!("helpers/decorateParam.cjs"),
    ),
    (
        "hearth:transpiled/helpers/decorateMetadata",
        "/hearth:/decorateMetadata.cjs",
        include_str!("helpers/decorateMetadata.cjs"),
    ),
];

pub(super) fn empty() -> ModuleId {
    ModuleId::new(EMPTY)
}

pub(super) fn resolve(specifier: &str) -> Option<ModuleId> {
    MODULES.iter().find(|(name, ..)| *name == specifier).map(|(_, id, _)| ModuleId::new(*id))
}

pub(super) fn load(id: &ModuleId) -> Option<ModuleSource> {
    let body = match MODULES.iter().find(|(_, known, _)| *known == id.as_str()) {
        Some((_, _, code)) => Arc::from(*code),
        None if id.as_str() == EMPTY => Arc::from(""),
        None => return None,
    };
    let code = ModuleCode::CommonJs { body, exports: Vec::new(), reexports: Vec::new() };
    Some(ModuleSource { id: id.clone(), code, source_map: None })
}
