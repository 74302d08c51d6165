//! One turn: JavaScript entered for one request, under its limits, to the end of its microtasks.

use std::rc::Rc;
use std::time::{Duration, Instant};

use hearth_core::{Footprint, LimitExceeded, RequestId};
use hearth_crash::breadcrumbs::TurnPhase;

use super::inner::LiveState;
use super::uncaught::report_rejections;
use crate::context_state::ContextState;
use crate::current_request::CurrentRequestGuard;
use crate::isolate::LockedIsolate;
use crate::watchdog::{Budget, Turn};

/// The isolate cannot go on: what was exceeded, and which request was running.
pub(super) struct Terminated {
    pub(super) request: RequestId,
    pub(super) exceeded: Option<LimitExceeded>,
}

/// Memory is checked after turns of this length: shorter ones can hardly allocate much without a
/// collection.
const LONG_TURN: Duration = Duration::from_micros(200);

/// V8's own tasks run after long turns, and after this many short ones.
const TASK_TURNS: u32 = 256;
const MAX_TASKS_PER_RUN: usize = 16;
/// How much the heap of an app with a small footprint may grow before it is shrunk again.
const SHRINK_STEP: usize = 4 << 20;

impl LiveState {
    /// Enters the context for `request` and calls `f`, then runs microtasks and reports unhandled rejections.
    pub(super) fn turn<R>(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        f: impl FnOnce(&mut v8::PinScope<'_, '_>, &ContextState) -> R,
    ) -> Result<R, Terminated> {
        let state = Rc::clone(&self.state);
        let (budget, phase) = match state.requests.borrow_mut().get(request) {
            Some(entry) => (entry.budget(&state.app.limits), entry.phase.turn_phase()),
            None => (Budget { cpu: None, wall: None }, TurnPhase::OutsideRequests),
        };
        state.set_running(request);
        let now = self.clock_hint.take().unwrap_or_else(Instant::now);
        // SAFETY: `arm` demands that the target outlives the turn: this borrow of its owner does.
        let watch = unsafe { Turn::arm(&self.target, request, phase, budget, now) };
        let current = CurrentRequestGuard::new(&state);
        let result = {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Local::new(scope, &*self.context);
            let scope = &mut v8::ContextScope::new(scope, context);
            state.enter(scope);
            v8::tc_scope!(let scope, scope);
            let result = f(scope, &state);
            if !scope.has_terminated() {
                scope.perform_microtask_checkpoint();
                report_rejections(scope, &state, request);
            }
            ContextState::leave(scope);
            result
        };
        drop(current);
        let finished = watch.finish();
        // A short turn is charged with the wall time that passed.
        self.turn_ended = if finished.cpu < LONG_TURN { now + finished.cpu } else { Instant::now() };
        state.record_durations(self.turn_ended);
        self.turns = self.turns.wrapping_add(1);
        if !self.housekeeping {
            state.app.latency.record(finished.cpu);
        }
        self.tasks_due |= finished.cpu >= LONG_TURN || self.turns.is_multiple_of(TASK_TURNS);
        // The limit that stopped the turn comes before what the memory check finds.
        let stopped = isolate.heap().exceeded().or(finished.exceeded);
        if finished.cpu >= LONG_TURN {
            isolate.check_heap();
        }
        if let Some(entry) = state.requests.borrow_mut().get(request) {
            entry.charge(finished.cpu);
        }
        let exceeded = stopped.or(isolate.heap().exceeded());
        if exceeded.is_some() || isolate.is_execution_terminating() || state.is_poisoned() {
            return Err(Terminated { request, exceeded });
        }
        Ok(result)
    }
}

impl LiveState {
    /// Runs V8's postponed tasks from time to time: steps of collections, cleanup of FinalizationRegistry.
    pub(super) fn run_tasks(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Terminated> {
        if isolate.heap().wants_collection() {
            self.collect_all(isolate)?;
        }
        if !std::mem::take(&mut self.tasks_due) {
            return Ok(());
        }
        self.turn(isolate, RequestId::OUTSIDE, |scope, _| {
            let platform = v8::V8::get_current_platform();
            for _ in 0..MAX_TASKS_PER_RUN {
                if !v8::Platform::pump_message_loop(&platform, scope, false) {
                    break;
                }
            }
        })?;
        match self.state.app.limits.footprint {
            Footprint::Usual => Ok(()),
            Footprint::Small => self.shrink_heap(isolate),
        }
    }

    /// Collects all garbage. Where the heap stays above half of its limit, and above half of what loading the
    /// app left free, another worker should take this one's place before a request fails.
    pub(super) fn collect_all(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Terminated> {
        isolate.heap().set_own_handles(self.state.own_handles());
        self.housekeeping = true;
        let collected = self.turn(isolate, RequestId::OUTSIDE, |scope, _| scope.low_memory_notification());
        self.housekeeping = false;
        collected?;
        let (left, limit) = (isolate.record_full_collection().bytes(), isolate.heap().limit().bytes());
        let exceeded = isolate.heap().exceeded();
        if exceeded.is_some() {
            return Err(Terminated { request: RequestId::OUTSIDE, exceeded });
        }
        let upper_half = |bytes: u64| bytes + limit.saturating_sub(bytes) / 2;
        if self.served == 0 {
            self.worn_at = upper_half(left);
            return Ok(());
        }
        let worn_at = self.worn_at.max(limit / 2);
        if left > upper_half(worn_at) {
            self.state.worker.retire();
        } else if left > worn_at {
            self.state.worker.set_worn();
        }
        Ok(())
    }

    /// Releases unused memory of the heap, if that may be much.
    fn shrink_heap(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Terminated> {
        if isolate.get_heap_statistics().total_heap_size() < self.shrink_at {
            return Ok(());
        }
        let collect = |scope: &mut v8::PinScope<'_, '_>, _: &ContextState| {
            scope.memory_pressure_notification(v8::MemoryPressureLevel::Critical);
        };
        self.turn(isolate, RequestId::OUTSIDE, collect)?;
        self.shrink_at = isolate.get_heap_statistics().total_heap_size() + SHRINK_STEP;
        Ok(())
    }
}

/// An error's text with its mapped stack, as the app's own code would print it.
pub(super) fn describe(scope: &mut v8::PinScope<'_, '_>, state: &ContextState, error: v8::Local<v8::Value>) -> String {
    let describe = v8::Local::new(scope, &state.entry_points().describe_error);
    let undefined = v8::undefined(scope).into();
    v8::tc_scope!(let scope, scope);
    match describe.call(scope, undefined, &[error]) {
        Some(text) => text.to_rust_string_lossy(scope),
        None => "an error that cannot be described".to_owned(),
    }
}

/// The same for an exception that was just caught. An error that V8 found in a source has no stack: the
/// place is in V8's message.
pub(super) fn describe_at(
    scope: &mut v8::PinScope<'_, '_>,
    state: &ContextState,
    error: v8::Local<v8::Value>,
    message: Option<v8::Local<v8::Message>>,
) -> String {
    let at = message.and_then(|message| {
        let file = message.get_script_resource_name(scope)?.to_rust_string_lossy(scope);
        let (line, column) =
            (u32::try_from(message.get_line_number(scope)?).ok()?, message.get_start_column() as u32 + 1);
        let original = state.modules.borrow().original(&file, line, column);
        Some(match original {
            Some((file, line, column)) => format!("file://{file}:{line}:{column}"),
            None => format!("{file}:{line}:{column}"),
        })
    });
    let text = describe(scope, state, error);
    match at {
        Some(at) if !text.contains(&at) => format!("{text}\n    at {at}"),
        _ => text,
    }
}
