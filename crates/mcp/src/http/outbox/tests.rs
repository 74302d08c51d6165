use std::task::{Context, Poll, Waker};

use rmcp::model::{
    ClientRequest, EmptyResult, NumberOrString, ProgressNotification, ProgressNotificationParam, ServerResult,
};

use super::super::track::ROOM;
use super::*;

fn request(id: i64, token: Option<i64>) -> JsonRpcRequest<ClientRequest> {
    let meta = token.map_or(serde_json::json!({}), |token| serde_json::json!({ "progressToken": token }));
    let text = serde_json::json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "a", "_meta": meta }
    });
    serde_json::from_value(text).unwrap()
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyResult {}), NumberOrString::Number(id))
}

fn progress(token: i64) -> ServerJsonRpcMessage {
    let token = ProgressToken(NumberOrString::Number(token));
    let notification = ProgressNotification::new(ProgressNotificationParam::new(token, 1.0));
    ServerJsonRpcMessage::notification(ServerNotification::ProgressNotification(notification))
}

#[derive(Debug, PartialEq, Eq)]
enum Read {
    Notice,
    Answer,
    Nothing,
    End,
}

/// What is there now.
fn read(reader: &mut Reader) -> Read {
    match reader.poll_recv(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => Read::Nothing,
        Poll::Ready(None) => Read::End,
        Poll::Ready(Some(message)) => match *message {
            ServerJsonRpcMessage::Notification(_) => Read::Notice,
            _ => Read::Answer,
        },
    }
}

#[test]
fn answers_and_progress_go_to_their_own_request() {
    let outbox = Outbox::default();
    let mut one = outbox.expect(&request(1, Some(7))).unwrap();
    let mut two = outbox.expect(&request(2, None)).unwrap();
    outbox.deliver(progress(7));
    outbox.deliver(answer(2));
    outbox.deliver(answer(1));
    assert_eq!([read(&mut one), read(&mut one), read(&mut one)], [Read::Notice, Read::Answer, Read::End]);
    assert_eq!([read(&mut two), read(&mut two)], [Read::Answer, Read::End]);
}

#[test]
fn an_id_is_taken_until_its_answer_came_even_if_its_client_went() {
    let outbox = Outbox::default();
    drop(outbox.expect(&request(1, None)).unwrap());
    assert_eq!(outbox.expect(&request(1, None)).map(drop), Err(Taken));
    outbox.deliver(answer(1));
    let mut again = outbox.expect(&request(1, None)).unwrap();
    assert_eq!(read(&mut again), Read::Nothing, "the late answer was not for this one");
    outbox.cancel(&NumberOrString::Number(1));
    assert_eq!(read(&mut again), Read::End);
    assert_eq!(outbox.expect(&request(1, None)).map(drop), Err(Taken), "its answer may be on its way");
    assert!(outbox.expect(&request(2, None)).is_ok());
}

#[test]
fn who_reads_slowly_misses_progress_but_never_the_answer() {
    let outbox = Outbox::default();
    let mut slow = outbox.expect(&request(1, Some(1))).unwrap();
    for _ in 0..10 * ROOM {
        outbox.deliver(progress(1));
    }
    outbox.deliver(answer(1));
    let mut heard = 0;
    while read(&mut slow) == Read::Notice {
        heard += 1;
    }
    assert_eq!((heard, slow.last()), (ROOM - 1, EventId { stream: 1, number: 10 * ROOM as u64 + 1 }));
}

#[test]
fn the_newest_listener_hears_what_belongs_to_no_request() {
    let outbox = Outbox::default();
    outbox.deliver(progress(9));
    let mut old = outbox.listen();
    let mut new = outbox.listen();
    outbox.deliver(progress(9));
    assert_eq!([read(&mut old), read(&mut new)], [Read::End, Read::Notice]);
    // Who was away hears what was said meanwhile, once.
    let last = new.last();
    drop(new);
    outbox.deliver(progress(9));
    let mut back = outbox.resume(last).unwrap();
    assert_eq!([read(&mut back), read(&mut back)], [Read::Notice, Read::Nothing]);
    outbox.close();
    assert_eq!(read(&mut back), Read::End);
}

#[test]
fn a_stream_goes_on_where_it_was_left_and_nobody_else_reads_it_then() {
    let outbox = Outbox::default();
    let mut first = outbox.expect(&request(1, Some(1))).unwrap();
    first.write_events();
    let begin = first.last();
    outbox.deliver(progress(1));
    assert_eq!(read(&mut first), Read::Notice);
    let left = first.last();
    let mut second = outbox.resume(left).unwrap();
    assert_eq!([read(&mut first), read(&mut second)], [Read::End, Read::Nothing]);
    drop((first, second));
    outbox.deliver(progress(1));
    outbox.deliver(answer(1));
    for _ in 0..2 {
        let mut third = outbox.resume(left).unwrap();
        assert_eq!([read(&mut third), read(&mut third), read(&mut third)], [Read::Notice, Read::Answer, Read::End]);
    }
    let mut all = outbox.resume(begin).unwrap();
    assert_eq!([read(&mut all), read(&mut all), read(&mut all)], [Read::Notice, Read::Notice, Read::Answer]);
    for unknown in ["1-4", "2-0", "7-0"] {
        assert!(outbox.resume(unknown.parse().unwrap()).is_none(), "{unknown}");
    }
    for wrong in ["", "1", "a-1", "1-", "-1-1"] {
        assert!(wrong.parse::<EventId>().is_err(), "{wrong}");
    }
}

#[test]
fn what_is_kept_is_bounded_and_what_was_taken_as_it_is_is_not_kept() {
    let outbox = Outbox::default();
    let plain = outbox.expect(&request(0, None)).unwrap();
    let last = plain.last();
    outbox.deliver(answer(0));
    drop(plain);
    assert!(outbox.resume(last).is_none());
    let mut names = Vec::new();
    for id in 1..=KEPT as i64 + 1 {
        let reader = outbox.expect(&request(id, None)).unwrap();
        reader.write_events();
        names.push(reader.last());
        outbox.deliver(answer(id));
    }
    assert!(outbox.resume(names[0]).is_none());
    assert!(names[1..].iter().all(|name| outbox.resume(*name).is_some()));
}
