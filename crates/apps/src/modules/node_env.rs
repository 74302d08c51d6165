//! Replaces `process.env.NODE_ENV` by `"production"` in all code. There is no `process`, but
//! packages choose their build by it.
//!
//! Plain JavaScript is changed in its text and padded with blanks to the same length, so that
//! positions stay the same and no source map is needed. Code that is transpiled is changed in its
//! syntax tree.
//!
//! Assignment targets, and files that declare a `process` of their own, are unchanged.

use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingIdentifier, ChainElement, Expression, Program};
use oxc_ast::builder::AstBuilder;
use oxc_ast_visit::{Visit, VisitMut, walk, walk_mut};
use oxc_span::{GetSpan, Span};

use super::syntax_error::LINE_ENDS;

pub(super) const VALUE: &str = "production";
const LITERAL: &str = "\"production\"";

#[derive(Default)]
struct Finder {
    found: Vec<Span>,
    own_process: bool,
}

struct Replacer<'a> {
    spans: HashSet<Span>,
    build: AstBuilder<'a>,
}

/// The occurrences in source order.
pub(super) fn find(source: &str, program: &Program<'_>) -> Vec<Span> {
    if !source.contains("NODE_ENV") {
        return Vec::new();
    }
    let mut finder = Finder::default();
    finder.visit_program(program);
    if finder.own_process {
        return Vec::new();
    }
    finder.found.sort_unstable_by_key(|span| span.start);
    finder.found
}

/// The source with the literal at these positions.
pub(super) fn splice(source: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(source.len());
    let mut done = 0;
    for span in spans {
        out.push_str(&source[done..span.start as usize]);
        out.push_str(LITERAL);
        let written = span.source_text(source);
        // The expression may span lines: the line ends stay, after the literal.
        let mut taken = LITERAL.len();
        for line in written.split_inclusive(LINE_ENDS) {
            let text = line.trim_end_matches(LINE_ENDS);
            out.extend(std::iter::repeat_n(' ', text.encode_utf16().count().saturating_sub(taken)));
            out.push_str(&line[text.len()..]);
            taken = 0;
        }
        done = span.end as usize;
    }
    out.push_str(&source[done..]);
    out
}

/// The same in a syntax tree.
pub(super) fn replace<'a>(allocator: &'a Allocator, program: &mut Program<'a>, spans: Vec<Span>) {
    if !spans.is_empty() {
        let spans = spans.into_iter().collect();
        Replacer { spans, build: AstBuilder::new(allocator) }.visit_program(program);
    }
}

/// `process.env.NODE_ENV`, also with `?.` or brackets.
pub(super) fn is_node_env(expression: &Expression<'_>) -> bool {
    let Some((object, "NODE_ENV")) = member(expression) else { return false };
    let Some((object, "env")) = member(object) else { return false };
    matches!(object, Expression::Identifier(name) if name.name == "process")
}

fn member<'b, 'a>(expression: &'b Expression<'a>) -> Option<(&'b Expression<'a>, &'b str)> {
    match expression {
        Expression::StaticMemberExpression(member) => Some((&member.object, member.property.name.as_str())),
        Expression::ComputedMemberExpression(member) => match &member.expression {
            Expression::StringLiteral(name) => Some((&member.object, name.value.as_str())),
            _ => None,
        },
        Expression::ChainExpression(chain) => match &chain.expression {
            ChainElement::StaticMemberExpression(member) => Some((&member.object, member.property.name.as_str())),
            _ => None,
        },
        _ => None,
    }
}

// === impl Finder ===

impl<'a> Visit<'a> for Finder {
    // Assignment targets are no expressions in this tree and are not visited.
    fn visit_expression(&mut self, it: &Expression<'a>) {
        if is_node_env(it) {
            self.found.push(it.span());
        } else {
            walk::walk_expression(self, it);
        }
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.own_process |= it.name == "process";
    }
}

// === impl Replacer ===

impl<'a> VisitMut<'a> for Replacer<'a> {
    fn visit_expression(&mut self, it: &mut Expression<'a>) {
        if self.spans.contains(&it.span()) && is_node_env(it) {
            *it = Expression::new_string_literal(it.span(), VALUE, None, &self.build);
        } else {
            walk_mut::walk_expression(self, it);
        }
    }
}

#[cfg(test)]
mod tests {
    use oxc_parser::Parser;
    use oxc_span::SourceType;

    use super::*;

    fn spliced(source: &str) -> String {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, source, SourceType::mjs()).parse();
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        splice(source, &find(source, &parsed.program))
    }

    #[test]
    fn positions_stay() {
        assert_eq!(
            spliced("if (process.env.NODE_ENV !== 'production') { a() }"),
            "if (\"production\"         !== 'production') { a() }"
        );
        let source = "f(process /* ä */\n  .env.NODE_ENV, 1)\ng()";
        let out = spliced(source);
        assert_eq!(out.lines().count(), 3);
        assert!(out.starts_with("f(\"production\""));
        let columns = |text: &str| text.lines().map(|line| line.encode_utf16().count()).collect::<Vec<_>>();
        assert_eq!(columns(&out), columns(source));
        assert_eq!(spliced("process .env   \r\n.\r  \u{2028}NODE_ENV"), "\"production\"   \r\n \r  \u{2028}        ");
    }

    #[test]
    fn all_spellings() {
        for source in
            ["process.env.NODE_ENV", "process.env['NODE_ENV']", "process?.env?.NODE_ENV", "process.env?.NODE_ENV"]
        {
            assert!(spliced(&format!("x = {source};")).starts_with("x = \"production\" "), "{source}");
        }
        assert!(spliced("process.env.NODE_ENV.length").starts_with("\"production\""));
    }

    #[test]
    fn unchanged_expressions() {
        for source in [
            "process.env.NODE_ENV = 'x'",
            "[process.env.NODE_ENV] = x",
            "import process from 'p'; process.env.NODE_ENV",
            "'process.env.NODE_ENV'",
            "a.process.env.NODE_ENV",
        ] {
            assert_eq!(spliced(source), source);
        }
    }
}
