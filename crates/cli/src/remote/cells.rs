//! `hearth replace`, `hearth cordon`: the processes that serve.

use hearth_control::action::Action;
use hearth_core::time::rfc3339;

use super::Session;
use super::error::RemoteError;
use super::responses::{Cordon, Cordons};
use crate::terminal::{Align, Style, Table, Tint, escape};

pub(super) fn replace(session: &Session) -> Result<(), RemoteError> {
    let value = session.server.value(&Action::Replace)?;
    session.output.answer(&value, |_| "new cells have taken over; requests in flight finish where they are".to_owned())
}

pub(super) fn list(session: &Session) -> Result<(), RemoteError> {
    let (value, found) = session.server.ask::<Cordons>(&Action::Cordons)?;
    session.output.answer(&value, |style| text(&found.cordons, style))
}

pub(super) fn add(session: &Session, owner: String) -> Result<(), RemoteError> {
    let value = session.server.value(&Action::Cordon { owner: owner.clone() })?;
    session.output.answer(&value, |_| format!("{} has a cell of its own", escape(&owner)))
}

pub(super) fn release(session: &Session, owner: String) -> Result<(), RemoteError> {
    let value = session.server.value(&Action::Release { owner: owner.clone() })?;
    session.output.answer(&value, |_| format!("{} is served by the shared cells again", escape(&owner)))
}

fn text(cordons: &[Cordon], style: Style) -> String {
    let mut table = Table::new(&[
        ("OWNER", Align::Left),
        ("WHY", Align::Left),
        ("SINCE", Align::Left),
        ("STATE", Align::Left),
        ("CELL", Align::Right),
        ("LOST", Align::Right),
    ]);
    for cordon in cordons {
        let tint = match cordon.state.as_str() {
            "serving" => Tint::Green,
            "shut" => Tint::Red,
            _ => Tint::Yellow,
        };
        let state = match cordon.until {
            Some(until) => format!("{} until {}", cordon.state, rfc3339(until)),
            None => cordon.state.clone(),
        };
        table.row([
            (cordon.owner.clone(), Some(Tint::Bold)),
            (cordon.why.clone(), None),
            (cordon.since.map(rfc3339).unwrap_or_default(), None),
            (state, Some(tint)),
            (cordon.cell.map(|cell| cell.to_string()).unwrap_or_default(), None),
            (cordon.losses.to_string(), (cordon.losses > 0).then_some(Tint::Red)),
        ]);
    }
    if table.is_empty() { "no owner has a cell of its own".to_owned() } else { table.write(style) }
}
