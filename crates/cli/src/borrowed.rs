//! Environment variables of other programs that mean the same as a flag of Hearth. They rank below flags, Hearth's own
//! variables and `hearth.yaml`. Each that is used is logged; each that cannot be used is logged with the flag to use instead.

use std::env;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The variable's value, if it is within the flag's bounds.
pub fn borrowed<T: FromStr + PartialOrd + Display>(name: &str, flag: &str, bounds: RangeInclusive<T>) -> Option<T> {
    let text = env::var(name).ok()?;
    match text.trim().parse() {
        Ok(value) if bounds.contains(&value) => {
            tracing::info!("{name}={} is used for {flag}", text.trim());
            Some(value)
        }
        Ok(_) => {
            let (least, most) = (bounds.start(), bounds.end());
            tracing::warn!("{name}={text:?} is not between {least} and {most}: ignored; {flag} says the same");
            None
        }
        Err(_) => {
            tracing::warn!("{name}={text:?} is not a number: ignored; {flag} says the same");
            None
        }
    }
}

/// The same for a boolean flag.
pub fn borrowed_switch(name: &str, flag: &str) -> Option<bool> {
    let text = env::var(name).ok()?;
    let value = match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" => true,
        "false" | "0" => false,
        _ => {
            tracing::warn!("{name}={text:?} is neither true nor false: ignored; {flag} says the same");
            return None;
        }
    };
    tracing::info!("{name}={} is used for {flag}", text.trim());
    Some(value)
}
