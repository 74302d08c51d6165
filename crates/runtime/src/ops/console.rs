//! `console` to the log.

use hearth_core::RequestId;

use super::convert::{id_of, string_of};
use super::{Arguments, Return};
use crate::console::Level;
use crate::context_state::ContextState;
use crate::op_error::OpError;

pub(super) fn op_console<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let level = match string_of(scope, args.get(1))?.as_str() {
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    let message = string_of(scope, args.get(2))?;
    ContextState::current(scope).log(request, level, &message);
    Ok(())
}
