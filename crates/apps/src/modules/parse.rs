//! Parses with the goal (module or script) that the file needs.
//!
//! A file whose name leaves the goal open is parsed as a module, which accepts all but a few old
//! scripts; only if that fails is it parsed as a script. Files are thus usually parsed once.

use hearth_core::module::ModuleError;
use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_span::SourceType;

use super::format::{Goal, Language};
use super::syntax_error;

pub(super) fn parse<'a>(
    allocator: &'a Allocator,
    id: &str,
    source: &'a str,
    language: Language,
    goal: Goal,
) -> Result<Program<'a>, ModuleError> {
    let plain = SourceType::mjs();
    let module = match language {
        Language::JavaScript => plain,
        Language::Jsx => plain.with_jsx(true),
        Language::TypeScript => plain.with_typescript(true),
        Language::Tsx => plain.with_typescript(true).with_jsx(true),
    };
    let script = module.with_script(true);
    let (first, second) = match goal {
        Goal::Module => (module, None),
        Goal::CommonJs => (script, Some(module).filter(|_| language == Language::TypeScript)),
        Goal::Open => (module, Some(script)),
    };
    let parsed = parse_as(allocator, source, first);
    if !parsed.diagnostics.has_errors() {
        return Ok(parsed.program);
    }
    match second.map(|goal| parse_as(allocator, source, goal)) {
        Some(again) if !again.diagnostics.has_errors() => Ok(again.program),
        _ => Err(syntax_error::syntax(id, source, &parsed.diagnostics)),
    }
}

fn parse_as<'a>(allocator: &'a Allocator, source: &'a str, kind: SourceType) -> ParserReturn<'a> {
    // A CommonJS module is the body of a function.
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let mut parsed = Parser::new(allocator, source, kind).with_options(options).parse();
    parsed.program.source_type = kind;
    parsed
}
