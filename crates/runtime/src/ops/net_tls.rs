//! TLS over a socket of the app's: a socket is secured in place.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::RequestId;
use hearth_egress::{Client, Secured, TlsFault, TlsSettings, TlsSetup, TlsVersions};

use super::convert::{bytes_value, id_of, string_of, text_value, with_bytes};
use super::crypto::{LongJobs, long_jobs};
use super::net::{NetOutcome, closed, fault, live_request};
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// Certificates that an app may give, and the bytes of all settings of one handshake.
const MAX_ITEMS: u32 = 512;
const MAX_BYTES: usize = 1024 * 1024;
const MAX_PROTOCOLS: usize = 16;
/// What TLS can say.
const MAX_PROTOCOL_BYTES: usize = 255;
const MAX_NAME_BYTES: usize = 255;
/// The settings, and what is read of them: the certificates, and once more what is needed of each authority.
const COPIES: u64 = 3;
/// More settings than this are not read on a thread that serves requests.
const MAX_READ_HERE: usize = 4 * 1024;

/// The bits of `flags`.
const CHECK_CHAIN: u32 = 1;
const CHECK_NAME: u32 = 2;
const ONLY_TLS12: u32 = 4;
const ONLY_TLS13: u32 = 8;

/// (request, socket, server name, flags, authorities, [certificate, key] or [], protocols)
/// -> promise of [protocol, version, cipher, fault of the chain, wrong name, certificates], or of a fault
pub(super) fn op_net_secure<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request: RequestId = live_request(&state, id_of(args.get(0))?);
    let id = id_of(args.get(1))?;
    let socket = state.net.borrow_mut().use_for(id, request);
    let (mut settings, bytes) = settings(scope, args)?;
    let mut charge = state.app.meters.memory.open();
    charge.try_set(bytes as u64 * COPIES)?;
    settings.charge = Some(charge);
    let jobs = (bytes > MAX_READ_HERE || settings.identity.is_some()).then(|| long_jobs(scope, &state));
    let stream = socket.as_ref().and_then(|socket| socket.take());
    let client = state.app.egress.clone();
    let promise = state.start_worker_op(scope, request, Some(id), async move {
        let (Some(socket), Some(stream)) = (socket, stream) else { return Ok(fault(closed())) };
        let (setup, cpu) = set_up(client.clone(), settings, jobs).await.inspect_err(|_| socket.put_back(None))?;
        let secured = match setup {
            Ok(setup) => client.secure(stream, setup).await,
            Err(error) => Err(error),
        };
        let outcome = match secured {
            Ok(mut secured) => {
                let stream = std::mem::replace(&mut secured.stream, Box::new(tokio::io::empty()));
                socket.put_back(Some(stream));
                NetOutcome::Secured(Box::new(secured))
            }
            Err(error) => {
                socket.put_back(None);
                NetOutcome::Fault(error.into())
            }
        };
        Ok(OpValue::Net(Box::new(NetOutcome::Computed { cpu, outcome: Box::new(outcome) })))
    })?;
    rv.set(promise.into());
    Ok(())
}

/// Reads the settings, here or elsewhere, and the CPU time that this took elsewhere.
async fn set_up(
    client: Arc<Client>,
    settings: TlsSettings,
    jobs: Option<LongJobs>,
) -> Result<(Result<TlsSetup, TlsFault>, Duration), OpError> {
    match jobs {
        None => Ok((client.set_up_tls(settings), Duration::ZERO)),
        Some(jobs) => jobs.run(move || client.set_up_tls(settings)).await,
    }
}

/// The settings, and how many bytes they have.
fn settings<'s>(scope: Scope<'_, 's, '_>, args: &Arguments<'s>) -> Result<(TlsSettings, usize), OpError> {
    let flags = args.get(3).uint32_value(scope).unwrap_or(0);
    let server_name = string_of(scope, args.get(2))?;
    if server_name.len() > MAX_NAME_BYTES {
        return Err(OpError::Range(format!("a server's name has {MAX_NAME_BYTES} bytes at the most")));
    }
    let mut left = MAX_BYTES;
    let mut identity = items(scope, args.get(5), &mut left)?.into_iter();
    let settings = TlsSettings {
        server_name,
        authorities: items(scope, args.get(4), &mut left)?,
        identity: identity.next().zip(identity.next()),
        protocols: protocols(scope, args.get(6), &mut left)?,
        versions: match flags & (ONLY_TLS12 | ONLY_TLS13) {
            ONLY_TLS12 => TlsVersions::Only12,
            ONLY_TLS13 => TlsVersions::Only13,
            _ => TlsVersions::All,
        },
        check_chain: flags & CHECK_CHAIN != 0,
        check_name: flags & CHECK_NAME != 0,
        charge: None,
    };
    Ok((settings, MAX_BYTES - left))
}

fn protocols<'s>(
    scope: Scope<'_, 's, '_>,
    value: v8::Local<'s, v8::Value>,
    left: &mut usize,
) -> Result<Vec<Vec<u8>>, OpError> {
    let protocols = items(scope, value, left)?;
    let fit = protocols.iter().all(|name| (1..=MAX_PROTOCOL_BYTES).contains(&name.len()));
    if !fit || protocols.len() > MAX_PROTOCOLS {
        return Err(OpError::Range(format!(
            "{MAX_PROTOCOLS} protocols are the most, and the name of each has 1 to {MAX_PROTOCOL_BYTES} bytes"
        )));
    }
    Ok(protocols)
}

/// The bytes of each item of an array, taken from those that are left.
fn items<'s>(
    scope: Scope<'_, 's, '_>,
    value: v8::Local<'s, v8::Value>,
    left: &mut usize,
) -> Result<Vec<Vec<u8>>, OpError> {
    let array: v8::Local<v8::Array> =
        value.try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
    if array.length() > MAX_ITEMS {
        return Err(OpError::Range(format!("{MAX_ITEMS} certificates are the most")));
    }
    let mut items = Vec::with_capacity(array.length() as usize);
    for index in 0..array.length() {
        let item = array.get_index(scope, index).ok_or(OpError::Pending)?;
        let bytes = with_bytes(item, |bytes| {
            *left = left.checked_sub(bytes.len())?;
            Some(bytes.to_vec())
        })?;
        items.push(bytes.ok_or_else(|| OpError::Range("the settings of TLS have 1 MB at the most".to_owned()))?);
    }
    Ok(items)
}

/// [protocol, version, cipher, fault of the chain, wrong name, certificates]
pub(super) fn secured_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    secured: Secured,
) -> Result<v8::Local<'s, v8::Value>, OpError> {
    let Secured { protocol, version, cipher, certificates, chain_fault, wrong_name, .. } = secured;
    let mut list: Vec<v8::Local<v8::Value>> = Vec::with_capacity(certificates.len());
    for certificate in &certificates {
        list.push(bytes_value(scope, certificate)?.into());
    }
    let protocol = String::from_utf8_lossy(&protocol.unwrap_or_default()).into_owned();
    let items: [v8::Local<v8::Value>; 6] = [
        text_value(scope, &protocol)?.into(),
        text_value(scope, version)?.into(),
        text_value(scope, cipher)?.into(),
        text_value(scope, chain_fault.unwrap_or_default())?.into(),
        v8::Boolean::new(scope, wrong_name).into(),
        v8::Array::new_with_elements(scope, &list).into(),
    ];
    Ok(v8::Array::new_with_elements(scope, &items).into())
}
