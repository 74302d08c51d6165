//! One file of code, from its text to what V8 gets: parse, transpile where the language asks for it, look at what it
//! imports and exports, decide what it is.

use std::sync::Arc;

use hearth_core::module::{ModuleCode, ModuleError, ModuleId};
use oxc_allocator::Allocator;

use super::format::{Goal, Kind, Language, Role, Syntax};
use super::map::FileMap;
use super::scope::Scope;
use super::stack::{self, NoRoom};
use super::survey::{Import, Survey};
use super::{fault, node_env, parse, transpile};

/// A file of code and what is known about it before it is parsed.
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
        stack::with_room(&self.source, move || file.compile_here()).unwrap_or_else(|no_room| {
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
            Err(fault::at(id, &self.source, None, &what))
        })
    }

    fn compile_here(&self) -> Result<Compiled, ModuleError> {
        let Self { language, goal, .. } = *self;
        let (id, source): (_, &str) = (self.id.as_str(), &self.source);
        let allocator = Allocator::default();
        let mut program = parse::parse(&allocator, id, source, language, goal)?;
        let asked = node_env::find(source, &program);
        if language == Language::JavaScript {
            let survey = Survey::of(source, &program);
            let text = if asked.is_empty() { self.source.clone() } else { node_env::splice(source, &asked).into() };
            return self.finish(survey, text, None, false);
        }
        node_env::replace(&allocator, &mut program, asked);
        let common_js = transpile::common_js_syntax(&program);
        let before = Survey::of(source, &program);
        if common_js.is_some() || (before.common_js() && !before.module) {
            // So that what the transformer imports is imported by `require`.
            program.source_type = program.source_type.with_script(true);
        }
        transpile::transform(&allocator, id, &mut program, &self.scope.compiler)?;
        let survey = Survey::of(source, &program);
        if let Some(span) = common_js.filter(|_| survey.module) {
            let what = "`export =` and `import x = require()` are CommonJS and cannot be mixed with import and export";
            return Err(fault::at(id, source, Some(span.start as usize), what));
        }
        let (text, map) = transpile::print(id, &program);
        self.finish(survey, text.into(), Some(map), common_js.is_some())
    }

    fn finish(
        &self,
        survey: Survey<'_>,
        text: Arc<str>,
        map: Option<FileMap>,
        common_js_only: bool,
    ) -> Result<Compiled, ModuleError> {
        if let Some(span) = survey.decorator {
            let what = "decorators are not known to V8 yet; TypeScript's older ones are compiled when tsconfig.json sets \
                        experimentalDecorators";
            return Err(fault::at(self.id.as_str(), &self.source, Some(span.start as usize), what));
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

/// The body of a function cannot start with `#!`; as a comment of the same length it can.
fn without_hashbang(text: Arc<str>) -> Arc<str> {
    match text.strip_prefix("#!") {
        Some(rest) => format!("//{rest}").into(),
        None => text,
    }
}
