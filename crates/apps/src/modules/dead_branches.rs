//! Evaluates conditions on `process.env.NODE_ENV`. Packages use them to choose between two builds,
//! of which only one is loaded: the names of the other must not be exported, nor its files read.

use oxc_ast::ast::{BinaryOperator, Expression, LogicalOperator, UnaryOperator};

use super::node_env::{self, VALUE};

/// The maximum number of operators per condition. Every `&&` of a chain is evaluated, so that long
/// chains would otherwise cost quadratic time.
const DEPTH: u32 = 8;

/// Whether an expression is true or false, if comparisons of strings determine that.
pub(super) fn truth(expression: &Expression<'_>) -> Option<bool> {
    within(expression, DEPTH)
}

fn within(expression: &Expression<'_>, depth: u32) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    match expression {
        Expression::ParenthesizedExpression(inner) => within(&inner.expression, depth),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::LogicalNot => {
            within(&unary.argument, depth).map(|known| !known)
        }
        Expression::LogicalExpression(logical) => {
            let (left, right) = (within(&logical.left, depth), within(&logical.right, depth));
            match logical.operator {
                LogicalOperator::And if left == Some(false) || right == Some(false) => Some(false),
                LogicalOperator::Or if left == Some(true) || right == Some(true) => Some(true),
                LogicalOperator::And | LogicalOperator::Or => left.and(right),
                LogicalOperator::Coalesce => None,
            }
        }
        Expression::BinaryExpression(binary) => {
            let equal = text(&binary.left)? == text(&binary.right)?;
            match binary.operator {
                BinaryOperator::Equality | BinaryOperator::StrictEquality => Some(equal),
                BinaryOperator::Inequality | BinaryOperator::StrictInequality => Some(!equal),
                _ => None,
            }
        }
        _ => None,
    }
}

fn text<'a>(expression: &'a Expression<'_>) -> Option<&'a str> {
    match expression {
        Expression::StringLiteral(literal) => Some(literal.value.as_str()),
        _ if node_env::is_node_env(expression) => Some(VALUE),
        _ => None,
    }
}
