//! Room for the processes of all sandboxes, where the server's own control group limits how many there may be: a part of it
//! is the server's own, so that cells that are lost can be replaced whatever runs in sandboxes.
//!
//! Each sandbox gets at most a quarter of what is left, so the first ones do not take it all, and none gets so few that
//! interpreters do not start: rather there is no sandbox.
//! Invariant: the sum of all places is never more than the room, but for those of the program before, which have theirs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::driver::BootError;

/// Interpreters that wait and a program of node's: fewer is not of use.
const LEAST: u32 = 48;

pub(super) struct Room {
    /// `None`: nothing limits the server.
    size: Option<u32>,
    /// What a sandbox gets where there is enough.
    most: u32,
    taken: Mutex<u32>,
}

/// How many processes a sandbox may have. Given back when dropped.
pub(super) struct Place {
    room: Arc<Room>,
    processes: u32,
}

// === impl Room ===

impl Room {
    /// `free`: the tasks that the server and its children may have beside those that there are.
    pub(super) fn new(free: Option<u32>, most: u32) -> Arc<Self> {
        Arc::new(Self { size: free.map(|free| free - free / 4), most, taken: Mutex::default() })
    }

    pub(super) fn reserve(self: &Arc<Self>) -> Result<Place, BootError> {
        let mut taken = self.lock();
        let processes = match self.size {
            None => self.most,
            Some(size) => {
                let left = size.saturating_sub(*taken);
                if left < LEAST {
                    return Err(BootError {
                        reason: format!(
                            "{taken} of the {size} processes are taken that the server's own control group leaves to all \
                             sandboxes: destroy one, or raise the limit (pids.max; TasksMax= of the service)"
                        ),
                    });
                }
                (left / 4).clamp(LEAST, self.most)
            }
        };
        *taken += processes;
        drop(taken);
        Ok(Place { room: self.clone(), processes })
    }

    /// For a sandbox of the program before, which has it already.
    pub(super) fn adopt(self: &Arc<Self>, processes: u32) -> Place {
        *self.lock() += processes;
        Place { room: self.clone(), processes }
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Place ===

impl Place {
    pub(super) fn processes(&self) -> u32 {
        self.processes
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.room.lock() -= self.processes;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_each_gets_all() {
        let room = Room::new(None, 512);
        let places: Vec<_> = (0..1_000).map(|_| room.reserve().unwrap()).collect();
        assert!(places.iter().all(|place| place.processes() == 512));
    }

    #[test]
    fn a_quarter_stays_the_servers_own_and_what_is_given_back_can_be_had_again() {
        let room = Room::new(Some(840), 128);
        let mut places = Vec::new();
        let refused = loop {
            match room.reserve() {
                Ok(place) => places.push(place),
                Err(error) => break error,
            }
        };
        let given: Vec<_> = places.iter().map(Place::processes).collect();
        assert_eq!(given, [128, 125, 94, 70, 53, 48, 48, 48]);
        assert!(given.iter().sum::<u32>() <= 630);
        assert!(refused.reason.contains("614 of the 630") && refused.reason.contains("TasksMax"), "{refused}");
        drop(places.pop());
        assert_eq!(room.reserve().unwrap().processes(), 48);
        let _adopted = room.adopt(512);
        assert!(room.reserve().is_err());
        drop(places);
        assert_eq!(room.reserve().unwrap().processes(), 48, "what was left by the program before counts");
    }
}
