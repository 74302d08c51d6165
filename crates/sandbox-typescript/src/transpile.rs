//! One source from TypeScript to JavaScript, as `tsc` has it: types off, imports that are used as types only, too; enums,
//! namespaces, parameter properties, `import x = require()` and `export =` to code. Nothing is lowered, and nothing is looked
//! up: there is no tsconfig.json, and no JSX, whose syntax would take that of casts away (`<T>x`).
//!
//! What comes out is a script unless it imports or exports; node finds out which. Its end is a source map.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Decorator, ExportNamedDeclaration, Program, Statement, TSModuleReference};
use oxc_ast_visit::Visit;
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_semantic::SemanticBuilder;
use oxc_span::{SPAN, SourceType, Span};
use oxc_transformer::{TransformOptions, Transformer};

use crate::fault::Fault;

/// A map is several times as long as its source, which no person wrote if it is longer than this.
const LONGEST_MAPPED: usize = 1 << 20;

/// `name` is what the source is called in errors and stack traces.
pub fn transpile(name: &str, source: &str) -> Result<String, Fault> {
    let allocator = Allocator::default();
    let mut program = parse(&allocator, name, source)?;
    if let Some(span) = FindDecorator::of(&program) {
        let what = "decorators are not supported: node does not know them";
        return Err(Fault::at(name, source, span.start as usize, what));
    }
    if is_common_js(&program) {
        program.source_type = program.source_type.with_script(true);
    }
    transform(&allocator, name, &mut program)?;
    Ok(print(name, &program))
}

/// As a module, which all but a few old scripts are; else as a script.
fn parse<'a>(allocator: &'a Allocator, name: &str, source: &'a str) -> Result<Program<'a>, Fault> {
    let module = SourceType::mjs().with_typescript(true);
    let parsed = parse_as(allocator, source, module);
    let Some(fault) = Fault::first(name, source, &parsed.diagnostics) else { return Ok(parsed.program) };
    let again = parse_as(allocator, source, module.with_script(true));
    if again.diagnostics.is_empty() { Ok(again.program) } else { Err(fault) }
}

fn parse_as<'a>(allocator: &'a Allocator, source: &'a str, kind: SourceType) -> ParserReturn<'a> {
    // A script is the body of a function in node.
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let mut parsed = Parser::new(allocator, source, kind).with_options(options).parse();
    parsed.program.source_type = kind;
    parsed
}

/// TypeScript's own way to write what node's `require` and `module.exports` are.
fn is_common_js(program: &Program<'_>) -> bool {
    program.body.iter().any(|statement| match statement {
        Statement::TSExportAssignment(_) => true,
        Statement::TSImportEqualsDeclaration(import) => {
            matches!(import.module_reference, TSModuleReference::ExternalModuleReference(_))
        }
        _ => false,
    })
}

fn transform<'a>(allocator: &'a Allocator, name: &str, program: &mut Program<'a>) -> Result<(), Fault> {
    let source = program.source_text;
    let checked = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_enum_eval(true)
        .with_excess_capacity(2.0)
        .build(program);
    if let Some(fault) = Fault::first(name, source, &checked.diagnostics) {
        return Err(fault);
    }
    let scoping = checked.semantic.into_scoping();
    let options = TransformOptions::default();
    let done = Transformer::new(allocator, Path::new(name), &options).build_with_scoping(scoping, program);
    if let Some(fault) = Fault::first(name, source, &done.diagnostics) {
        return Err(fault);
    }
    // Where all imports were types, an `export {}` was added, which would make a module of a script.
    program.body.retain(|statement| !matches!(statement, Statement::ExportNamedDeclaration(e) if is_mark(e)));
    Ok(())
}

fn is_mark(export: &ExportNamedDeclaration<'_>) -> bool {
    export.span == SPAN && export.specifiers.is_empty()
}

fn print(name: &str, program: &Program<'_>) -> String {
    let options = CodegenOptions {
        minify: true,
        comments: CommentOptions::disabled(),
        source_map_path: (program.source_text.len() <= LONGEST_MAPPED).then(|| name.into()),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(program);
    match printed.map {
        Some(map) => format!("{}\n//# sourceMappingURL={}\n", printed.code, map.to_data_url()),
        None => printed.code,
    }
}

/// The first decorator.
#[derive(Default)]
struct FindDecorator(Option<Span>);

impl FindDecorator {
    fn of(program: &Program<'_>) -> Option<Span> {
        let mut found = Self::default();
        found.visit_program(program);
        found.0
    }
}

impl<'a> Visit<'a> for FindDecorator {
    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.0 = self.0.or(Some(decorator.span));
    }
}

#[cfg(test)]
#[path = "transpile/tests.rs"]
mod tests;
