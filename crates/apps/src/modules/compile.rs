//! Compiles one file of code for V8: parses it, transpiles it if its language needs that, scans
//! imports and exports, and determines its module kind.

use std::sync::Arc;

use hearth_core::module::{ModuleCode, ModuleError, ModuleId};
use oxc_allocator::Allocator;

use super::deep_stack::{self, NoRoom};
use super::format::{Goal, Kind, Language, Role, Syntax};
use super::package_scope::Scope;
use super::scan::{Import, SourceScan};
use super::source_map::FileMap;
use super::{node_env, parse, syntax_error, transpile};

/// A file of code and what is known about it before parsing.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub id: ModuleId,
    pub source: Arc<str>,
    pub language: Language,
    pub goal: Goal,
    pub scope: Scope,
    pub role: Role,
}

#[derive(Debug)]
pub(super) struct Compiled {
    pub code: ModuleCode,
    pub map: Option<FileMap>,
    pub imports: Vec<Import>,
}

// === impl File ===

impl File {
    pub fn compile(&self) -> Result<Compiled, ModuleError> {
        let file = self.clone();
        deep_stack::with_room(&self.source, move || file.compile_here()).unwrap_or_else(|no_room| {
            let id = self.id.as_str();
            let what = match no_room {
                NoRoom::Source { tokens, limit } => {
                    format!("too large to be parsed safely: {tokens} operators and brackets, more than {limit}")
                }
                NoRoom::Thread(error) => {
                    return Err(ModuleError::Read { id: id.into(), reason: format!("no thread to parse it: {error}") });
                }
                NoRoom::Deadline(time) => format!("not parsed within {time:?}; is it nested in some odd way?"),
                NoRoom::Panic => "the parser failed on it; this is a bug of Hearth or of oxc".into(),
            };
            Err(syntax_error::at(id, &self.source, None, &what))
        })
    }

    fn compile_here(&self) -> Result<Compiled, ModuleError> {
        let Self { language, goal, .. } = *self;
        let (id, source): (_, &str) = (self.id.as_str(), &self.source);
        let allocator = Allocator::default();
        let mut program = parse::parse(&allocator, id, source, language, goal)?;
        let asked = node_env::find(source, &program);
        if language == Language::JavaScript {
            let survey = SourceScan::new(source, &program);
            let text = if asked.is_empty() { self.source.clone() } else { node_env::splice(source, &asked).into() };
            return self.finish(survey, text, None, false);
        }
        node_env::replace(&allocator, &mut program, asked);
        let common_js = transpile::common_js_syntax(&program);
        let before = SourceScan::new(source, &program);
        if common_js.is_some() || (before.common_js() && !before.module) {
            // Makes the transformer emit `require` for its helpers.
            program.source_type = program.source_type.with_script(true);
        }
        transpile::transform(&allocator, id, &mut program, &self.scope.compiler)?;
        let survey = SourceScan::new(source, &program);
        if let Some(span) = common_js.filter(|_| survey.module) {
            let what = "`export =` and `import x = require()` are CommonJS and cannot be mixed with import and export";
            return Err(syntax_error::at(id, source, Some(span.start as usize), what));
        }
        let (text, map) = transpile::print(id, &program);
        self.finish(survey, text.into(), Some(map), common_js.is_some())
    }

    fn finish(
        &self,
        survey: SourceScan<'_>,
        text: Arc<str>,
        map: Option<FileMap>,
        common_js_only: bool,
    ) -> Result<Compiled, ModuleError> {
        if let Some(span) = survey.decorator {
            let what = "decorators are not known to V8 yet; TypeScript's older ones are compiled when tsconfig.json sets \
                        experimentalDecorators";
            return Err(syntax_error::at(self.id.as_str(), &self.source, Some(span.start as usize), what));
        }
        let syntax = Syntax { module: survey.module, common_js: survey.common_js(), common_js_only };
        let code = match Kind::decide(self.language, self.goal, &self.scope, syntax, self.role) {
            Kind::Module => ModuleCode::Module(text),
            Kind::Script => ModuleCode::Script(text),
            Kind::CommonJs => {
                let (exports, reexports) = survey.exports.into_parts();
                ModuleCode::CommonJs { body: without_hashbang(text), exports, reexports }
            }
        };
        Ok(Compiled { code, map, imports: survey.imports })
    }
}

/// A function body cannot start with `#!`; a comment of the same length can replace it.
fn without_hashbang(text: Arc<str>) -> Arc<str> {
    match text.strip_prefix("#!") {
        Some(rest) => format!("//{rest}").into(),
        None => text,
    }
}
