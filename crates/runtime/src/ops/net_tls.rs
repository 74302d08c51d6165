//! TLS over a socket of the app's: a socket is secured in place.

use hearth_core::RequestId;
use hearth_egress::{Secured, TlsSettings, TlsVersions};

use super::convert::{bytes_of, bytes_value, id_of, string_of, text_value};
use super::net::{NetOutcome, closed, fault, live_request};
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// Certificates and protocols that an app may give, and bytes of each.
const MAX_ITEMS: u32 = 512;
const MAX_ITEM_BYTES: usize = 1024 * 1024;

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
    let settings = settings(scope, args)?;
    let stream = socket.as_ref().and_then(|socket| socket.take());
    let client = state.app.egress.clone();
    let promise = state.start_worker_op(scope, request, Some(id), async move {
        let (Some(socket), Some(stream)) = (socket, stream) else { return Ok(fault(closed())) };
        Ok(match client.secure(stream, settings).await {
            Ok(mut secured) => {
                let stream = std::mem::replace(&mut secured.stream, Box::new(tokio::io::empty()));
                socket.put_back(Some(stream));
                OpValue::Net(Box::new(NetOutcome::Secured(Box::new(secured))))
            }
            Err(error) => {
                socket.put_back(None);
                fault(error.into())
            }
        })
    })?;
    rv.set(promise.into());
    Ok(())
}

fn settings<'s>(scope: Scope<'_, 's, '_>, args: &Arguments<'s>) -> Result<TlsSettings, OpError> {
    let flags = args.get(3).uint32_value(scope).unwrap_or(0);
    let mut identity = items(scope, args.get(5))?.into_iter();
    Ok(TlsSettings {
        server_name: string_of(scope, args.get(2))?,
        authorities: items(scope, args.get(4))?,
        identity: identity.next().zip(identity.next()),
        protocols: items(scope, args.get(6))?,
        versions: match flags & (ONLY_TLS12 | ONLY_TLS13) {
            ONLY_TLS12 => TlsVersions::Only12,
            ONLY_TLS13 => TlsVersions::Only13,
            _ => TlsVersions::All,
        },
        check_chain: flags & CHECK_CHAIN != 0,
        check_name: flags & CHECK_NAME != 0,
    })
}

/// The bytes of each item of an array.
fn items<'s>(scope: Scope<'_, 's, '_>, value: v8::Local<'s, v8::Value>) -> Result<Vec<Vec<u8>>, OpError> {
    let array: v8::Local<v8::Array> =
        value.try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
    if array.length() > MAX_ITEMS {
        return Err(OpError::Range(format!("{MAX_ITEMS} certificates or protocols are the most")));
    }
    let mut items = Vec::with_capacity(array.length() as usize);
    for index in 0..array.length() {
        let item = array.get_index(scope, index).ok_or(OpError::Pending)?;
        let bytes = bytes_of(item)?;
        if bytes.len() > MAX_ITEM_BYTES {
            return Err(OpError::Range("a certificate has 1 MB at the most".to_owned()));
        }
        items.push(bytes.to_vec());
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
