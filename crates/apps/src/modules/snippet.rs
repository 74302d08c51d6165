//! Code that was typed (`hearth eval`): JavaScript or TypeScript, an expression or statements, with
//! `await` and `return`. The result is the body of an async function that returns the value of a
//! final expression.

use hearth_core::module::ModuleError;
use oxc_allocator::{Allocator, Box};
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast::builder::AstBuilder;

use super::format::{Goal, Language};
use super::parse::parse;
use super::transpile::{print, transform};
use super::tsconfig::CompilerOptions;

/// `name` is the name of the code in errors.
pub fn function_body(name: &str, code: &str) -> Result<String, ModuleError> {
    let allocator = Allocator::default();
    // `{ a: 1 }` is an object rather than a block. Error positions refer to the typed code.
    let as_expression = format!("(\n{code}\n)");
    let parsed = parse(&allocator, name, &as_expression, Language::TypeScript, Goal::Open);
    let mut program = match parsed {
        Ok(program) if matches!(&program.body[..], [Statement::ExpressionStatement(_)]) => program,
        Ok(_) | Err(_) => parse(&allocator, name, code, Language::TypeScript, Goal::Open)?,
    };
    return_the_last(&allocator, &mut program);
    transform(&allocator, name, &mut program, &CompilerOptions::default())?;
    Ok(print(name, &program).0)
}

/// A final expression is the result.
fn return_the_last<'a>(allocator: &'a Allocator, program: &mut Program<'a>) {
    let build = AstBuilder::new(allocator);
    match program.body.pop() {
        Some(Statement::ExpressionStatement(last)) => {
            let last = last.unbox();
            program.body.push(Statement::new_return_statement(last.span, Some(last.expression), &build));
        }
        Some(other) => program.body.push(other),
        // A string alone may be a directive (`"use strict"`) or a text to be shown.
        None => {
            if let Some(last) = program.directives.pop() {
                let text = Expression::StringLiteral(Box::new_in(last.expression, &build));
                program.body.push(Statement::new_return_statement(last.span, Some(text), &build));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn body(code: &str) -> String {
        function_body("eval", code).unwrap().trim_end_matches(['\n', ';']).to_owned()
    }

    #[test]
    fn a_final_expression_is_returned() {
        for (code, expected) in [
            ("1 + 1", "return 1+1"),
            ("'text'", "return`text`"),
            ("{ a: 1 }", "return{a:1}"),
            ("await f()", "return await f()"),
            ("f(); 5", "f();return 5"),
            ("let a = 1\na", "let a=1;return a"),
            ("for (;;) f()", "for(;;)f()"),
            ("return 7", "return 7"),
            ("let x: number = 5; x as unknown", "let x=5;return x"),
            ("", ""),
        ] {
            assert_eq!(body(code), expected, "{code}");
        }
    }

    #[test]
    fn an_error_shows_the_line_as_it_was_typed() {
        let error = function_body("eval", "let a = 1;\nfoo(").unwrap_err();
        let ModuleError::Syntax { message, .. } = error else { panic!("{error}") };
        assert!(message.starts_with("eval:2:") && message.contains("\n  2 | foo("), "{message}");
    }
}
