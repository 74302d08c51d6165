//! Natives: the Rust functions that the JavaScript of `js/` calls. One file per API, in step with
//! `js/types/ops.d.ts`.
//!
//! A native never unwinds into V8: a panic in one becomes an exception in the app and condemns the
//! worker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use v8::MapFnTo;

use crate::context_state::ContextState;
use crate::op_error::OpError;

mod bindings;
mod body;
mod buffer;
mod clone;
mod compression;
mod console;
mod convert;
mod crypto;
mod dns;
mod encoding;
mod fetch;
mod file;
mod html_rewriter;
mod json;
mod modules;
mod natives;
mod net;
mod net_tls;
mod node_util;
mod node_v8;
mod request;
mod timers;
mod url;
mod vm;
mod websocket;

pub(crate) use convert::{bytes_value, string_bytes, text_value};
pub(crate) use crypto::Computed;
pub(crate) use encoding::{Decoder, decode_text};
pub(crate) use fetch::{FetchState, Head};
pub(crate) use net::NetOutcome;
pub(crate) use websocket::{Opened, event_arguments};

/// A native by its name in JavaScript.
pub(crate) struct Native {
    pub(crate) name: &'static str,
    pub(crate) callback: v8::FunctionCallback,
}

pub(crate) type Arguments<'s> = v8::FunctionCallbackArguments<'s>;
pub(crate) type Return<'s> = v8::ReturnValue<'s>;

/// Where a native can be called.
#[derive(Clone, Copy)]
enum Callable {
    /// Also without a worker, so that warm-up can include it. Its errors are V8's own: those of the
    /// DOM are made by a worker's code.
    Anywhere,
    /// Only while a worker's turn runs.
    InTurn,
}

macro_rules! natives {
    ($($callable:ident $module:ident :: { $($name:ident),* $(,)? })*) => {
        /// All natives. Their order is part of the snapshot: it must be the same in the process that makes the
        /// snapshot and in those that load it, which one program guarantees.
        pub(crate) fn natives() -> &'static [Native] {
            static NATIVES: OnceLock<Vec<Native>> = OnceLock::new();
            NATIVES.get_or_init(|| vec![$($({
                fn guarded<'s, 'i>(scope: &mut v8::PinScope<'s, 'i>, arguments: Arguments<'s>, result: Return<'s>) {
                    guard(Callable::$callable, scope, arguments, result, $module::$name)
                }
                Native { name: stringify!($name), callback: guarded.map_fn_to() }
            }),*),*])
        }
    };
}

natives! {
    Anywhere encoding::{op_encoding_label, op_text_encode, op_text_encode_into, op_text_decode}
    InTurn encoding::{
        op_text_decoder_new, op_text_decoder_decode, op_text_decoder_free, op_base64_encode, op_base64_decode,
    }
    Anywhere natives::{op_native_made}
    Anywhere url::{op_url_parse, op_url_set, op_url_form_parse, op_url_form_serialize}
    InTurn crypto::{
        op_crypto_random, op_crypto_uuid, op_crypto_digest, op_crypto_key_own, op_crypto_key_secret, op_crypto_key_import,
        op_crypto_key_import_jwk, op_crypto_key_export, op_crypto_key_export_jwk, op_crypto_key_public, op_crypto_key_rsa,
        op_crypto_run, op_crypto_run_sync, op_crypto_equal, op_node_crypto_info, op_node_crypto_state_new,
        op_node_crypto_state_update, op_node_crypto_state_call, op_node_crypto_key_read, op_node_crypto_key_jwk,
        op_node_crypto_key_write, op_node_crypto_key_to_jwk, op_node_crypto_key_describe, op_node_crypto_key_equals,
        op_node_crypto_key_share, op_node_crypto_certificate,
    }
    InTurn timers::{op_timer_start, op_timer_cancel, op_now, op_time_origin}
    InTurn console::{op_console}
    InTurn clone::{op_structured_clone}
    InTurn compression::{op_codec_new, op_codec_step, op_codec_reset, op_codec_level, op_codec_free, op_crc32}
    InTurn html_rewriter::{
        op_html_selector, op_html_rewriter_new, op_html_rewriter_record, op_html_rewriter_edit, op_html_rewriter_free,
    }
    InTurn bindings::{op_binding_call}
    InTurn body::{
        op_body_read, op_body_bytes, op_body_text, op_body_cancel, op_body_length,
        op_pipe_new, op_pipe_write, op_pipe_ready, op_pipe_close, op_pipe_fail,
    }
    InTurn json::{op_body_json, op_json_text}
    InTurn file::{op_file_stat, op_file_open, op_fs_stat, op_fs_list, op_fs_real, op_fs_read}
    InTurn fetch::{op_fetch_start, op_fetch_head, op_fetch_abort}
    InTurn net::{
        op_net_connect, op_net_pair, op_net_read, op_net_write, op_net_shutdown, op_net_close, op_net_running,
    }
    InTurn net_tls::{op_net_secure}
    InTurn dns::{op_dns_lookup}
    InTurn request::{
        op_request_method, op_request_url, op_request_headers, op_request_body,
        op_respond, op_request_fail, op_event_done, op_wait_until, op_background_error,
    }
    InTurn buffer::{
        op_buffer_to_string, op_buffer_from_string, op_buffer_write, op_buffer_utf8_length, op_buffer_compare,
        op_buffer_index_of, op_buffer_fill, op_buffer_copy, op_buffer_swap, op_buffer_is_utf8, op_buffer_is_ascii,
    }
    InTurn node_util::{
        op_node_kinds, op_node_is, op_node_proxy, op_node_promise, op_node_entries, op_node_keys,
        op_node_constructor_name,
    }
    InTurn node_v8::{op_v8_serialize, op_v8_deserialize, op_v8_heap}
    InTurn vm::{op_vm_script, op_vm_function}
    InTurn modules::{op_source_position, op_commonjs_load, op_commonjs_resolve, op_node_file, op_node_body}
    InTurn websocket::{
        op_websocket_pair, op_websocket_accept, op_websocket_send, op_websocket_buffered, op_websocket_close,
        op_websocket_drop, op_websocket_connect, op_websocket_cancel,
    }
}

fn guard<'s, 'i>(
    callable: Callable,
    scope: &mut v8::PinScope<'s, 'i>,
    arguments: Arguments<'s>,
    mut result: Return<'s>,
    op: impl FnOnce(&mut v8::PinScope<'s, 'i>, &Arguments<'s>, &mut Return<'s>) -> Result<(), OpError>,
) {
    if let (Callable::InTurn, false) = (callable, ContextState::is_in_turn(scope)) {
        // There is no worker while the snapshot is made, and in a spare.
        return OpError::type_error("native functions are for requests").throw(scope);
    }
    // What a panic leaves half-done belongs to a worker that is condemned below.
    match catch_unwind(AssertUnwindSafe(|| op(scope, &arguments, &mut result))) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => error.throw(scope),
        Err(_) => {
            if let Some(state) = ContextState::try_current(scope) {
                state.poison();
            }
            OpError::type_error("internal error in a native function").throw(scope);
        }
    }
}
