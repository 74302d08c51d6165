//! Outcomes of requests: each is answered, broken off on purpose, or a fault.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::ask::End;

/// Faults that are printed in full; the rest is counted.
const TOLD: usize = 20;

#[derive(Default)]
pub struct Tally {
    pub sent: u64,
    pub answered: u64,
    /// Disconnected, half-closed, or garbage: a response may arrive or not.
    pub broken: u64,
    ends: BTreeMap<&'static str, BTreeMap<String, u64>>,
    pub faults: Faults,
}

#[derive(Default)]
pub struct Faults {
    pub count: u64,
    told: Vec<String>,
}

impl Tally {
    pub fn end(&mut self, kind: &'static str, end: End) {
        self.answered += 1;
        let label = match end {
            End::Answer => "answered".to_owned(),
            End::Code(code) => code,
            End::CutOff => "cut off".to_owned(),
        };
        *self.ends.entry(kind).or_default().entry(label).or_default() += 1;
    }

    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.broken += other.broken;
        for (kind, ends) in other.ends {
            for (label, count) in ends {
                *self.ends.entry(kind).or_default().entry(label).or_default() += count;
            }
        }
        self.faults.append(other.faults);
    }

    /// Number of requests to apps of a kind with this outcome.
    pub fn count(&self, kind: &str, label: &str) -> u64 {
        self.ends.get(kind).and_then(|ends| ends.get(label)).copied().unwrap_or(0)
    }

    /// A line for each kind of app.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (kind, ends) in &self.ends {
            let ends: Vec<String> = ends.iter().map(|(label, count)| format!("{label} {count}")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {kind:<10} {}", ends.join(", "));
        }
        text
    }
}

// === impl Faults ===

impl Faults {
    pub fn push(&mut self, fault: impl Into<String>) {
        self.count += 1;
        if self.told.len() < TOLD {
            self.told.push(fault.into());
        }
    }

    /// Records a fault unless the condition holds.
    pub fn check(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.push(fault());
        }
    }

    pub fn append(&mut self, other: Self) {
        let untold = other.count - other.told.len() as u64;
        other.told.into_iter().for_each(|fault| self.push(fault));
        self.count += untold;
    }

    pub fn printed(&self) -> &[String] {
        &self.told
    }
}
