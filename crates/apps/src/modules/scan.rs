//! Scans a file in one walk over its tree: imports, CommonJS exports, and the module system that
//! its syntax implies.
//!
//! Code that `process.env.NODE_ENV` disables still counts as syntax (V8 parses it), but its imports
//! and exports do not count.

use hearth_core::module::{ImportStyle, ImportType};
use oxc_ast::ast::{
    ArrowFunctionExpression, AssignmentExpression, AwaitExpression, BindingIdentifier, CallExpression,
    ConditionalExpression, Decorator, ExportAllDeclaration, ExportDeclaration, ExportDefaultDeclaration,
    ExportFromDeclaration, ExportNamedDeclaration, Expression, ForOfStatement, Function, IdentifierReference,
    IfStatement, ImportAttributeKey, ImportDeclaration, ImportExpression, ImportMeta, LogicalExpression,
    LogicalOperator, Program, VariableDeclaration, VariableDeclarationKind, VariableDeclarator, WithClause,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::Span;
use oxc_syntax::scope::ScopeFlags;

use super::cjs_exports::{self, Exports};
use super::dead_branches::truth;

/// Free names that imply CommonJS.
const FREE: [&str; 5] = ["require", "exports", "module", "__filename", "__dirname"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub specifier: String,
    pub style: ImportStyle,
    pub kind: ImportType,
    pub need: Need,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The graph does not link without it.
    Always,
    /// `require` and `import()`: code may catch the failure, or never get there.
    Perhaps,
}

#[derive(Debug)]
pub(super) struct SourceScan<'s> {
    pub imports: Vec<Import>,
    pub exports: Exports<'s>,
    /// `import`, `export`, `import.meta` or a top-level `await`.
    pub module: bool,
    pub decorator: Option<Span>,
    used: u8,
    /// Which of [`FREE`] are declared by each enclosing function and the file itself.
    declared: Vec<u8>,
    dead: u32,
}

// === impl SourceScan ===

impl<'s> SourceScan<'s> {
    pub fn new(source: &'s str, program: &Program<'_>) -> Self {
        let mut survey = Self {
            imports: Vec::new(),
            exports: Exports::new(source),
            module: false,
            decorator: None,
            used: 0,
            declared: vec![0],
            dead: 0,
        };
        survey.visit_program(program);
        survey
    }

    pub fn common_js(&self) -> bool {
        self.used & !self.declared[0] != 0
    }

    fn import(&mut self, specifier: &str, style: ImportStyle, kind: ImportType, need: Need) {
        if self.dead == 0 {
            self.imports.push(Import { specifier: specifier.to_owned(), style, kind, need });
        }
    }

    fn declare(&mut self, name: &str) {
        if let (Some(bit), Some(scope)) = (bit(name), self.declared.last_mut()) {
            *scope |= bit;
        }
    }

    fn is_free(&self, name: &str) -> bool {
        bit(name).is_some_and(|bit| self.declared.iter().all(|scope| scope & bit == 0))
    }

    fn at_top(&self) -> bool {
        self.declared.len() == 1
    }

    fn inside(&mut self, walk: impl FnOnce(&mut Self)) {
        self.declared.push(0);
        walk(self);
        self.declared.pop();
    }

    fn dead_if(&mut self, dead: bool, walk: impl FnOnce(&mut Self)) {
        self.dead += u32::from(dead);
        walk(self);
        self.dead -= u32::from(dead);
    }
}

impl<'a> Visit<'a> for SourceScan<'_> {
    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind.is_value() {
            self.module = true;
            self.import(&it.source.value, ImportStyle::Import, attribute(it.with_clause.as_deref()), Need::Always);
            walk::walk_import_declaration(self, it);
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind.is_value() {
            self.module = true;
            walk::walk_export_named_declaration(self, it);
        }
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        if !it.declaration.declare() && !it.declaration.is_type() {
            self.module = true;
            walk::walk_export_declaration(self, it);
        }
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        if it.export_kind.is_value() {
            self.module = true;
            self.import(&it.source.value, ImportStyle::Import, attribute(it.with_clause.as_deref()), Need::Always);
            walk::walk_export_from_declaration(self, it);
        }
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind.is_value() {
            self.module = true;
            self.import(&it.source.value, ImportStyle::Import, attribute(it.with_clause.as_deref()), Need::Always);
        }
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        self.module = true;
        walk::walk_export_default_declaration(self, it);
    }

    fn visit_import_meta(&mut self, _: &ImportMeta) {
        self.module = true;
    }

    fn visit_await_expression(&mut self, it: &AwaitExpression<'a>) {
        self.module |= self.at_top();
        walk::walk_await_expression(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        self.module |= it.r#await && self.at_top();
        walk::walk_for_of_statement(self, it);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        self.module |= it.kind == VariableDeclarationKind::AwaitUsing && self.at_top();
        walk::walk_variable_declaration(self, it);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        if let Some(specifier) = cjs_exports::literal(&it.source) {
            let kind = it.options.as_ref().map_or(ImportType::Default, attribute_in);
            self.import(specifier, ImportStyle::Import, kind, Need::Perhaps);
        }
        walk::walk_import_expression(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if self.dead == 0 {
            if let Some(specifier) = cjs_exports::require_call(it).filter(|_| self.is_free("require")) {
                self.import(specifier, ImportStyle::Require, ImportType::Default, Need::Perhaps);
            }
            self.exports.call(it);
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if self.dead == 0 {
            self.exports.assignment(it);
        }
        walk::walk_assignment_expression(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if self.dead == 0 {
            self.exports.declarator(it);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if self.is_free(&it.name) {
            self.used |= bit(&it.name).unwrap_or_default();
        }
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.declare(&it.name);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if let Some(name) = it.id.as_ref().filter(|_| it.is_declaration()) {
            self.declare(&name.name);
        }
        self.inside(|survey| walk::walk_function(survey, it, flags));
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.inside(|survey| walk::walk_arrow_function_expression(survey, it));
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        let known = truth(&it.test);
        self.visit_expression(&it.test);
        self.dead_if(known == Some(false), |survey| survey.visit_statement(&it.consequent));
        if let Some(alternate) = &it.alternate {
            self.dead_if(known == Some(true), |survey| survey.visit_statement(alternate));
        }
    }

    fn visit_conditional_expression(&mut self, it: &ConditionalExpression<'a>) {
        let known = truth(&it.test);
        self.visit_expression(&it.test);
        self.dead_if(known == Some(false), |survey| survey.visit_expression(&it.consequent));
        self.dead_if(known == Some(true), |survey| survey.visit_expression(&it.alternate));
    }

    fn visit_logical_expression(&mut self, it: &LogicalExpression<'a>) {
        let stops = match it.operator {
            LogicalOperator::And => truth(&it.left) == Some(false),
            LogicalOperator::Or => truth(&it.left) == Some(true),
            LogicalOperator::Coalesce => false,
        };
        self.visit_expression(&it.left);
        self.dead_if(stops, |survey| survey.visit_expression(&it.right));
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.decorator.get_or_insert(it.span);
        walk::walk_decorator(self, it);
    }
}

fn bit(name: &str) -> Option<u8> {
    FREE.iter().position(|free| *free == name).map(|index| 1 << index)
}

fn attribute(clause: Option<&WithClause<'_>>) -> ImportType {
    let entries = clause.into_iter().flat_map(|clause| &clause.with_entries);
    let mut kinds = entries.filter(|entry| match &entry.key {
        ImportAttributeKey::Identifier(key) => key.name == "type",
        ImportAttributeKey::StringLiteral(key) => key.value == "type",
    });
    kinds.next().map_or(ImportType::Default, |entry| import_type(&entry.value.value))
}

/// Of `import("x", { with: { type: "json" } })`.
fn attribute_in(options: &Expression<'_>) -> ImportType {
    let kind = cjs_exports::property(options, "with").and_then(|with| cjs_exports::property(with, "type"));
    kind.and_then(cjs_exports::literal).map_or(ImportType::Default, import_type)
}

fn import_type(name: &str) -> ImportType {
    match name {
        "json" => ImportType::Json,
        "text" => ImportType::Text,
        "bytes" => ImportType::Bytes,
        _ => ImportType::Default,
    }
}
