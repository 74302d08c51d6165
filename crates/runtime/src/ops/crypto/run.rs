//! Runs an operation: at once where it is short, else on a thread that serves no requests. Its CPU time is the request's.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::RequestId;
use hearth_core::memory::Charge;
use hearth_crypto::{CryptoError, Operation, Output};
use tokio::sync::Semaphore;

use super::Scope;
use super::keys::Keys;
use super::operation::operation;
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;
use crate::ops::convert::{buffer_value, id_of, string_of};
use crate::ops::{Arguments, Return};
use crate::watchdog::{cpu_time, thread_clock};
use crate::worker::WorkerRef;

/// What takes longer is not for a turn.
const MAX_IN_TURN: Duration = Duration::from_micros(500);
/// An operation that cannot be interrupted is refused when it would take so many times the request's CPU limit: its cost is
/// estimated, and rather too high.
const MAX_LIMITS: u32 = 4;
/// Operations have lists of values, and lists in them, none of them long.
const MAX_NESTING: u32 = 3;
const MAX_VALUES: u32 = 64;

/// A result that came from another thread.
#[derive(Debug)]
pub(crate) struct Computed {
    output: Result<Output, CryptoError>,
    cpu: Duration,
}

/// Computations of an isolate on threads that serve no requests: some at a time.
pub(in crate::ops) struct LongJobs {
    permits: Arc<Semaphore>,
    worker: WorkerRef,
}

impl Computed {
    pub(crate) fn into_value<'s>(
        self,
        scope: &mut v8::PinScope<'s, '_>,
        state: &ContextState,
        request: RequestId,
    ) -> Result<v8::Local<'s, v8::Value>, OpError> {
        if let Some(entry) = state.requests.borrow_mut().get(request) {
            entry.charge(self.cpu);
        }
        output_value(scope, self.output?)
    }
}

/// (request, name, values) -> what it comes to, or a promise of it
pub(in crate::ops) fn op_crypto_run<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let name = string_of(scope, args.get(1))?;
    let operation = operation(scope, &name, args.get(2))?;
    let cost = operation.estimated_cost();
    let state = ContextState::current(scope);
    check(&state, &operation)?;
    if cost <= MAX_IN_TURN {
        let value = output_value(scope, operation.run()?)?;
        rv.set(value);
        return Ok(());
    }
    // What waits for a thread holds its data; only so much of it may wait as the app's memory allows.
    let mut held = state.app.meters.memory.open();
    held.try_set(given_bytes(scope, args.get(2), MAX_NESTING) + operation.memory())?;
    let promise = start(scope, &state, request, operation, held)?;
    rv.set(promise.into());
    Ok(())
}

/// (name, values) -> what it comes to, however long it takes: the turn is charged for it.
pub(in crate::ops) fn op_crypto_run_sync<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let name = string_of(scope, args.get(0))?;
    let operation = operation(scope, &name, args.get(1))?;
    check(&ContextState::current(scope), &operation)?;
    let value = output_value(scope, operation.run()?)?;
    rv.set(value);
    Ok(())
}

/// Refuses what is beyond the app's limits, since nothing can interrupt it.
fn check(state: &ContextState, operation: &Operation) -> Result<(), OpError> {
    let (cost, memory) = (operation.estimated_cost(), operation.memory());
    let refused = |message| Err(OpError::Dom { name: "OperationError", message });
    let heap = state.app.limits.heap.bytes();
    if heap > 0 && memory > heap {
        let (memory, heap) = (memory >> 20, heap >> 20);
        return refused(format!("the operation would hold {memory} MB; the app's memory limit is {heap} MB"));
    }
    let limit = state.app.limits.cpu;
    if !limit.is_zero() && cost > limit * MAX_LIMITS {
        return refused(format!(
            "the operation would take about {} s of CPU time; the app's limit is {} s: raise it with `cpu`",
            cost.as_secs(),
            limit.as_secs_f32()
        ));
    }
    Ok(())
}

/// The bytes of the buffers among an operation's values.
fn given_bytes<'s>(scope: Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>, nesting: u32) -> u64 {
    if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value) {
        return view.byte_length() as u64;
    }
    if let Ok(buffer) = v8::Local::<v8::ArrayBuffer>::try_from(value) {
        return buffer.byte_length() as u64;
    }
    let Ok(list) = v8::Local::<v8::Array>::try_from(value) else { return 0 };
    if nesting == 0 {
        return 0;
    }
    let items = (0..list.length().min(MAX_VALUES)).filter_map(|index| list.get_index(scope, index));
    let items: Vec<_> = items.collect();
    items.into_iter().map(|item| given_bytes(scope, item, nesting - 1)).sum()
}

/// `held` is charged until the computation is done.
fn start<'s>(
    scope: Scope<'_, 's, '_>,
    state: &ContextState,
    request: RequestId,
    operation: Operation,
    held: Charge,
) -> Result<v8::Local<'s, v8::Promise>, OpError> {
    let jobs = long_jobs(scope, state);
    let (_, promise) = state.start_op(scope, request, async move {
        let computation = move || {
            let _held = held;
            operation.run()
        };
        let (output, cpu) = jobs.run(computation).await?;
        Ok(OpValue::Crypto(Box::new(Computed { output, cpu })))
    })?;
    Ok(promise)
}

pub(in crate::ops) fn long_jobs(scope: &mut v8::Isolate, state: &ContextState) -> LongJobs {
    LongJobs { permits: Keys::of(scope).long_jobs(), worker: state.worker.clone() }
}

impl LongJobs {
    /// What the computation comes to, and the CPU time that it took.
    pub(in crate::ops) async fn run<R: Send + 'static>(
        self,
        compute: impl FnOnce() -> R + Send + 'static,
    ) -> Result<(R, Duration), OpError> {
        // The semaphore is never closed. The permit goes with the computation, which may outlive this task.
        let permit = self.permits.acquire_owned().await.map_err(|_| OpError::type_error("internal: no permit"))?;
        let computed = self.worker.run_off_thread(move || {
            let _permit = permit;
            let clock = thread_clock();
            let before = cpu_time(clock);
            let output = compute();
            let cpu =
                cpu_time(clock).zip(before).map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before));
            (output, cpu)
        });
        computed.await.ok_or_else(|| OpError::type_error("the worker is ending"))
    }
}

fn output_value<'s>(scope: &mut v8::PinScope<'s, '_>, output: Output) -> Result<v8::Local<'s, v8::Value>, OpError> {
    Ok(match output {
        Output::Bytes(bytes) => buffer_value(scope, &bytes).into(),
        Output::Verdict(verdict) => v8::Boolean::new(scope, verdict).into(),
        Output::Parts(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| buffer_value(scope, part).into()).collect();
            v8::Array::new_with_elements(scope, &parts).into()
        }
        Output::Pair(pair) => {
            let keys = Keys::of(scope);
            let handles = [keys.insert(pair.public), keys.insert(pair.private)];
            let handles = handles.map(|handle| v8::Number::new(scope, handle as f64).into());
            v8::Array::new_with_elements(scope, &handles).into()
        }
    })
}
