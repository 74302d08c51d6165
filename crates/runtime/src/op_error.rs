//! Errors of native functions, named by the JavaScript class that the app sees.

use hearth_core::{AccountFull, BodyError, LimitExceeded, LimitKind};

#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum OpError {
    #[error("{0}")]
    Type(String),
    #[error("{0}")]
    Range(String),
    #[error("{message}")]
    Dom { name: &'static str, message: String },
    /// The app holds more in transit outside of its isolate than its memory limit allows.
    #[error("{0}")]
    Memory(LimitExceeded),
    /// An exception of the app's own is already being thrown: V8 has it.
    #[error("an exception is pending")]
    Pending,
}

impl OpError {
    pub(crate) fn type_error(message: impl Into<String>) -> Self {
        Self::Type(message.into())
    }

    /// The exception as a value; none when V8 has one pending already.
    pub(crate) fn to_value<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Value>> {
        let text = |scope: &mut v8::PinScope<'s, '_>, message: &str| {
            v8::String::new(scope, message).unwrap_or_else(|| v8::String::empty(scope))
        };
        match self {
            Self::Type(message) => {
                let message = text(scope, message);
                Some(v8::Exception::type_error(scope, message))
            }
            Self::Range(message) => {
                let message = text(scope, message);
                Some(v8::Exception::range_error(scope, message))
            }
            Self::Memory(exceeded) => {
                let message = text(scope, &exceeded.to_string());
                Some(v8::Exception::range_error(scope, message))
            }
            Self::Dom { name, message } => {
                let state = crate::context_state::ContextState::current(scope);
                let make = v8::Local::new(scope, &state.entry_points().make_dom_exception);
                let arguments = [text(scope, message).into(), text(scope, name).into()];
                let undefined = v8::undefined(scope).into();
                make.call(scope, undefined, &arguments)
            }
            Self::Pending => None,
        }
    }

    pub(crate) fn throw(&self, scope: &mut v8::PinScope<'_, '_>) {
        if let Some(value) = self.to_value(scope) {
            scope.throw_exception(value);
        }
    }
}

impl From<BodyError> for OpError {
    fn from(error: BodyError) -> Self {
        Self::Type(error.to_string())
    }
}

impl From<AccountFull> for OpError {
    fn from(full: AccountFull) -> Self {
        Self::Memory(LimitExceeded::memory(LimitKind::Heap, full.held, full.limit))
    }
}
