//! Determines the names that a CommonJS module exports from its code, so that `import { name }
//! from` can link before the module has run. The patterns are those of Node's cjs-module-lexer,
//! matched in a syntax tree:
//!
//! ```js
//! exports.a = module.exports.b = 1;  exports["c"] = 2;
//! module.exports = { a, b: 1, ...require("x") };           // also as `0 && (module.exports = {…})` (esbuild's note)
//! module.exports = require("x");                           // or a variable that holds it
//! Object.defineProperty(exports, "a", …);  Object.assign(exports, …);
//! __export(exports, { a: () => a });                       // esbuild, swc
//! __exportStar(require("x"), exports);  __export(require("x"));  __reExport(…, require("x"));
//! Object.keys(_x).forEach(function (key) { … exports[key] = _x[key]; });   // Babel
//! ```
//!
//! Superfluous names are harmless (they are `undefined`), missing ones make an import fail to link;
//! functions are therefore scanned as well, and conditional assignments count.

use std::collections::{HashMap, HashSet};

use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression, ChainElement, Expression,
    ObjectExpression, ObjectPropertyKind, PropertyKey, VariableDeclarator,
};
use oxc_span::GetSpan;

/// Looks through nested `a = b = c` and parentheses.
const DEPTH: usize = 16;

/// Functions that copy all names of their argument to the exports.
const STARS: [&str; 5] = ["__exportStar", "_exportStar", "_export_star", "__reExport", "__export"];
/// Functions that define the getters in their second argument on the first.
const GETTERS: [&str; 3] = ["__export", "_export", "__exportAll"];
/// Functions that keep the names of the module they are given.
const INTEROP: [&str; 6] = [
    "_interopRequireWildcard",
    "_interop_require_wildcard",
    "_interopRequireDefault",
    "_interop_require_default",
    "__importStar",
    "__toESM",
];

#[derive(Debug)]
pub(super) struct Exports<'s> {
    source: &'s str,
    names: Vec<String>,
    known: HashSet<String>,
    reexports: Vec<String>,
    /// Variables that hold a required module.
    required: HashMap<String, String>,
}

// === impl Exports ===

impl<'s> Exports<'s> {
    pub fn new(source: &'s str) -> Self {
        let (names, reexports) = (Vec::new(), Vec::new());
        Self { source, names, known: HashSet::new(), reexports, required: HashMap::new() }
    }

    /// Names without `default`, which every CommonJS module has; and specifiers whose names are
    /// exported too.
    pub fn into_parts(self) -> (Vec<String>, Vec<String>) {
        (self.names, self.reexports)
    }

    pub fn declarator(&mut self, it: &VariableDeclarator<'_>) {
        if let (BindingPattern::BindingIdentifier(name), Some(init)) = (&it.id, &it.init) {
            self.hold(&name.name, init);
        }
    }

    pub fn assignment(&mut self, it: &AssignmentExpression<'_>) {
        match &it.left {
            AssignmentTarget::AssignmentTargetIdentifier(name) => self.hold(&name.name, &it.right),
            AssignmentTarget::StaticMemberExpression(member) => {
                self.assigned(&member.object, &member.property.name, &it.right);
            }
            AssignmentTarget::ComputedMemberExpression(member) => {
                if let Some(name) = literal(&member.expression) {
                    self.assigned(&member.object, name, &it.right);
                }
            }
            _ => {}
        }
    }

    pub fn call(&mut self, it: &CallExpression<'_>) {
        let arguments: Vec<&Expression<'_>> = it.arguments.iter().filter_map(Argument::as_expression).collect();
        let (first, second) = (arguments.first().copied(), arguments.get(1).copied());
        match callee(&it.callee) {
            (Some("Object"), "defineProperty") if first.is_some_and(is_exports) => {
                if let Some(name) = second.and_then(literal) {
                    self.name(name);
                }
            }
            (Some("Object"), "assign") if first.is_some_and(is_exports) => {
                arguments[1..].iter().for_each(|source| self.all_of(source));
            }
            (_, name) if GETTERS.contains(&name) && first.is_some_and(is_exports) => {
                if let Some(source) = second {
                    self.all_of(source);
                }
            }
            (_, name) if STARS.contains(&name) => {
                arguments.iter().filter_map(|argument| self.module(argument)).next().inspect(|m| self.reexport(m));
            }
            (_, "forEach") => self.for_each(it, first),
            _ => {}
        }
    }

    /// Babel's loop over the names of another module.
    fn for_each(&mut self, it: &CallExpression<'_>, body: Option<&Expression<'_>>) {
        let Expression::StaticMemberExpression(member) = &it.callee else { return };
        let Expression::CallExpression(keys) = &member.object else { return };
        if callee(&keys.callee) != (Some("Object"), "keys") {
            return;
        }
        let module = keys.arguments.first().and_then(Argument::as_expression).and_then(|m| self.module(m));
        let writes_exports = body.is_some_and(|body| body.span().source_text(self.source).contains("exports"));
        if let Some(module) = module.filter(|_| writes_exports) {
            self.reexport(&module);
        }
    }

    fn assigned(&mut self, object: &Expression<'_>, name: &str, value: &Expression<'_>) {
        if is_exports(object) {
            self.name(name);
        } else if name == "exports" && is_named(object, "module") {
            self.all_of(value);
        }
    }

    /// All names of an object that is exported as a whole.
    fn all_of(&mut self, value: &Expression<'_>) {
        let mut value = value;
        for _ in 0..DEPTH {
            value = match value {
                Expression::ParenthesizedExpression(inner) => &inner.expression,
                Expression::AssignmentExpression(inner) => &inner.right,
                _ => break,
            };
        }
        if let Expression::ObjectExpression(object) = value {
            self.all_in(object);
        } else if let Some(module) = self.module(value) {
            self.reexport(&module);
        }
    }

    fn all_in(&mut self, object: &ObjectExpression<'_>) {
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    if let Some(name) = key(&property.key) {
                        self.name(name);
                    }
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    if let Some(module) = self.module(&spread.argument) {
                        self.reexport(&module);
                    }
                }
            }
        }
    }

    fn hold(&mut self, variable: &str, value: &Expression<'_>) {
        if let Some(module) = self.module(value) {
            self.required.insert(variable.to_owned(), module);
        }
    }

    /// The specifier of the module whose names an expression has.
    fn module(&self, value: &Expression<'_>) -> Option<String> {
        let mut value = value;
        for _ in 0..DEPTH {
            value = match value {
                Expression::ParenthesizedExpression(inner) => &inner.expression,
                Expression::Identifier(name) => return self.required.get(name.name.as_str()).cloned(),
                Expression::CallExpression(call) => match require_call(call) {
                    Some(specifier) => return Some(specifier.to_owned()),
                    None if INTEROP.contains(&callee(&call.callee).1) => call.arguments.first()?.as_expression()?,
                    None => return None,
                },
                _ => return None,
            };
        }
        None
    }

    fn name(&mut self, name: &str) {
        if name != "default" && self.known.insert(name.to_owned()) {
            self.names.push(name.to_owned());
        }
    }

    fn reexport(&mut self, specifier: &str) {
        if !self.reexports.iter().any(|known| known == specifier) {
            self.reexports.push(specifier.to_owned());
        }
    }
}

/// The specifier of `require("x")`.
pub(super) fn require_call<'b>(call: &'b CallExpression<'_>) -> Option<&'b str> {
    match (&call.callee, call.arguments.as_slice()) {
        (Expression::Identifier(name), [argument]) if name.name == "require" => literal(argument.as_expression()?),
        _ => None,
    }
}

/// The value of a string or of a template without expressions.
pub(super) fn literal<'b>(expression: &'b Expression<'_>) -> Option<&'b str> {
    match expression {
        Expression::StringLiteral(literal) => Some(literal.value.as_str()),
        Expression::TemplateLiteral(template) => match (template.quasis.as_slice(), template.expressions.is_empty()) {
            ([quasi], true) => quasi.value.cooked.as_ref().map(|text| text.as_str()),
            _ => None,
        },
        _ => None,
    }
}

/// A property of an object literal.
pub(super) fn property<'b, 'a>(object: &'b Expression<'a>, name: &str) -> Option<&'b Expression<'a>> {
    let Expression::ObjectExpression(object) = object else { return None };
    object.properties.iter().find_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) if key(&property.key) == Some(name) => Some(&property.value),
        _ => None,
    })
}

fn key<'b>(key: &'b PropertyKey<'_>) -> Option<&'b str> {
    match key {
        PropertyKey::StaticIdentifier(name) => Some(name.name.as_str()),
        PropertyKey::StringLiteral(name) => Some(name.value.as_str()),
        _ => None,
    }
}

fn is_named(expression: &Expression<'_>, wanted: &str) -> bool {
    matches!(expression, Expression::Identifier(name) if name.name == wanted)
}

/// `exports` or `module.exports`.
fn is_exports(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::StaticMemberExpression(member) => {
            member.property.name == "exports" && is_named(&member.object, "module")
        }
        Expression::ParenthesizedExpression(inner) => is_named(&inner.expression, "exports"),
        _ => is_named(expression, "exports"),
    }
}

/// `(Some("a"), "b")` of `a.b()`, `(None, "b")` of `b()`; also of TypeScript's `(0, tslib.b)()`.
fn callee<'b>(expression: &'b Expression<'_>) -> (Option<&'b str>, &'b str) {
    match expression {
        Expression::Identifier(name) => (None, name.name.as_str()),
        Expression::StaticMemberExpression(member) => match &member.object {
            Expression::Identifier(object) => (Some(object.name.as_str()), member.property.name.as_str()),
            _ => (None, member.property.name.as_str()),
        },
        Expression::ChainExpression(chain) => match &chain.expression {
            ChainElement::StaticMemberExpression(member) => (None, member.property.name.as_str()),
            _ => (None, ""),
        },
        Expression::ParenthesizedExpression(inner) => match &inner.expression {
            Expression::SequenceExpression(sequence) => match sequence.expressions.last() {
                Some(Expression::StaticMemberExpression(member)) => (None, member.property.name.as_str()),
                Some(Expression::Identifier(name)) => (None, name.name.as_str()),
                _ => (None, ""),
            },
            _ => (None, ""),
        },
        _ => (None, ""),
    }
}
