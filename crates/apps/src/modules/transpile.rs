//! Transpiles TypeScript and JSX to JavaScript: removes types, turns JSX into calls, and enums,
//! namespaces and legacy decorators into code. Nothing is lowered: V8 supports the rest of the
//! language.

use std::path::Path;

use hearth_core::module::ModuleError;
use oxc_allocator::Allocator;
use oxc_ast::ast::{ExportNamedDeclaration, Program, Statement, TSModuleReference};
use oxc_codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc_semantic::SemanticBuilder;
use oxc_span::{SPAN, Span};
use oxc_transformer::{HelperLoaderMode, HelperLoaderOptions, JsxOptions, JsxRuntime, TransformOptions, Transformer};

use super::source_map::{FileMap, Point};
use super::syntax_error;
use super::synthetic::HELPERS;
use super::tsconfig::CompilerOptions;

/// Changes the tree in place.
pub(super) fn transform<'a>(
    allocator: &'a Allocator,
    id: &str,
    program: &mut Program<'a>,
    options: &CompilerOptions,
) -> Result<(), ModuleError> {
    let source = program.source_text;
    let checked = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_enum_eval(true)
        .with_excess_capacity(2.0)
        .build(program);
    if checked.diagnostics.has_errors() {
        return Err(syntax_error::syntax(id, source, &checked.diagnostics));
    }
    let scoping = checked.semantic.into_scoping();
    let options = transform_options(options, Pragmas::of(program));
    let done = Transformer::new(allocator, Path::new(id), &options).build_with_scoping(scoping, program);
    if done.diagnostics.has_errors() {
        return Err(syntax_error::syntax(id, source, &done.diagnostics));
    }
    // If all imports were types, an `export {}` was added to keep the file a module; this is
    // decided here instead.
    program.body.retain(|statement| !matches!(statement, Statement::ExportNamedDeclaration(e) if is_mark(e, SPAN)));
    Ok(())
}

/// Without indentation, which would make deeply nested code quadratically large (positions are
/// mapped back).
pub(super) fn print(id: &str, program: &Program<'_>) -> (String, FileMap) {
    let options = CodegenOptions {
        minify: true,
        comments: CommentOptions::disabled(),
        source_map_path: Some(id.into()),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(program);
    let points = printed.map.iter().flat_map(|map| map.get_tokens()).map(|token| Point {
        generated: (token.get_dst_line(), token.get_dst_col()),
        original: (token.get_src_line(), token.get_src_col()),
    });
    (printed.code, FileMap::new(id, points))
}

/// TypeScript's notation for CommonJS: `export =` and `import x = require()`.
pub(super) fn common_js_syntax(program: &Program<'_>) -> Option<Span> {
    program.body.iter().find_map(|statement| match statement {
        Statement::TSExportAssignment(export) => Some(export.span),
        Statement::TSImportEqualsDeclaration(import) if import.import_kind.is_value() => {
            matches!(import.module_reference, TSModuleReference::ExternalModuleReference(_)).then_some(import.span)
        }
        _ => None,
    })
}

/// `export {}` at a certain position.
fn is_mark(export: &ExportNamedDeclaration<'_>, span: Span) -> bool {
    export.span == span && export.specifiers.is_empty()
}

/// The JSX settings in a file's comments: `@jsxRuntime`, or a pragma that only one of the two
/// runtimes has. The transformer reads the names in them itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pragmas {
    Silent,
    Classic,
    Automatic,
}

impl Pragmas {
    fn of(program: &Program<'_>) -> Self {
        let source = program.source_text;
        let mut found = Self::Silent;
        for comment in &program.comments {
            let mut words = comment.content_span().source_text(source).split_whitespace();
            while let Some(word) = words.next() {
                match (word, found) {
                    ("@jsxRuntime", _) => match words.next() {
                        Some("classic") => return Self::Classic,
                        Some("automatic") => return Self::Automatic,
                        _ => {}
                    },
                    ("@jsxImportSource", _) => found = Self::Automatic,
                    ("@jsx" | "@jsxFrag", Self::Silent) => found = Self::Classic,
                    _ => {}
                }
            }
        }
        found
    }
}

fn transform_options(given: &CompilerOptions, pragmas: Pragmas) -> TransformOptions {
    let mut options = TransformOptions::default();
    let yes = |flag: Option<bool>| flag.unwrap_or(false);
    let runtime = match (pragmas, given.jsx.as_deref()) {
        (Pragmas::Classic, _) | (Pragmas::Silent, Some("react")) => JsxRuntime::Classic,
        (Pragmas::Automatic | Pragmas::Silent, _) => JsxRuntime::Automatic,
    };
    options.jsx = JsxOptions { runtime, throw_if_namespace: false, ..JsxOptions::enable() };
    match runtime {
        JsxRuntime::Automatic => options.jsx.import_source = given.jsx_import_source.clone(),
        JsxRuntime::Classic => {
            options.jsx.pragma = given.jsx_factory.clone();
            options.jsx.pragma_frag = given.jsx_fragment_factory.clone();
            // Marks their imports as used.
            if let Some(factory) = &given.jsx_factory {
                options.typescript.jsx_pragma = factory.clone().into();
            }
            if let Some(factory) = &given.jsx_fragment_factory {
                options.typescript.jsx_pragma_frag = factory.clone().into();
            }
        }
    }
    options.typescript.only_remove_type_imports = yes(given.verbatim_module_syntax);
    options.typescript.remove_class_fields_without_initializer = given.use_define_for_class_fields == Some(false);
    options.decorator.legacy = yes(given.experimental_decorators);
    options.decorator.emit_decorator_metadata = yes(given.emit_decorator_metadata);
    options.helper_loader = HelperLoaderOptions { module_name: HELPERS.into(), mode: HelperLoaderMode::Runtime };
    options
}
