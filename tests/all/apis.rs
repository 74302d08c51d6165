//! The web's APIs as apps use them. The cases are functions of `tests/apps/apis/*.js` that check themselves.

use crate::server::serve;

fn check(topic: &str, case: &str) {
    serve("apis").expect(&format!("/{topic}/{case}"), "ok");
}

/// A module of tests for each file of cases, and a test that none was forgotten.
macro_rules! cases {
    ($($topic:ident: $($case:ident)*;)*) => {
        $(
            mod $topic {
                $(
                    #[test]
                    fn $case() {
                        super::check(stringify!($topic), stringify!($case));
                    }
                )*

                #[test]
                fn is_complete() {
                    let mut cases = [$(stringify!($case)),*];
                    cases.sort_unstable();
                    super::serve("apis").expect(concat!("/", stringify!($topic)), &cases.join(","));
                }
            }
        )*
    };
}

cases! {
    abort: reasons listeners statics any;
    blob: parts_and_slices files;
    ports: messages_come_in_order a_listener_alone_waits_for_start messages_are_cloned_and_buffers_transferred
        a_closed_port_is_silent the_interfaces;
    clone: collections typed_arrays circles errors what_cannot_be_cloned transfers;
    crypto: digests random signatures encryption derivation wrapping keys_that_are_refused;
    encoding: base64 utf8 split_characters fatal_and_marks other_encodings;
    events: targets cancelling exceptions;
    headers: append_joins cookies_stay_apart iteration_is_sorted deleting bad_ones;
    messages: requests_are_cloned requests_from_requests bad_requests responses bodies_of_every_kind forms;
    misc: globals wasm console_survives_everything intl microtasks_and_promises;
    params: constructors copies_are_copies reading changing encoding;
    streams: readable tee transform writable byob errors cancel_reaches_the_source text_streams;
    timers: arguments_and_order clearing intervals bad_handlers;
    url: parts default_ports_vanish custom_schemes relative setters odd_hosts params_are_live;
}
