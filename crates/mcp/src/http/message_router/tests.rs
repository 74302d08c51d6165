use std::task::{Context, Poll, Waker};

use rmcp::model::{
    ClientRequest, EmptyResult, NumberOrString, ProgressNotification, ProgressNotificationParam, ServerResult,
};

use super::super::event_stream::REPLAY_LIMIT;
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

/// The next message, without waiting.
fn read(reader: &mut StreamReader) -> Read {
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
    let router = MessageRouter::default();
    let mut one = router.register(&request(1, Some(7))).unwrap();
    let mut two = router.register(&request(2, None)).unwrap();
    router.deliver(progress(7));
    router.deliver(answer(2));
    router.deliver(answer(1));
    assert_eq!([read(&mut one), read(&mut one), read(&mut one)], [Read::Notice, Read::Answer, Read::End]);
    assert_eq!([read(&mut two), read(&mut two)], [Read::Answer, Read::End]);
}

#[test]
fn an_id_is_in_use_until_it_is_answered_even_if_its_client_disconnects() {
    let router = MessageRouter::default();
    drop(router.register(&request(1, None)).unwrap());
    assert_eq!(router.register(&request(1, None)).map(drop), Err(IdInUse));
    router.deliver(answer(1));
    let mut again = router.register(&request(1, None)).unwrap();
    assert_eq!(read(&mut again), Read::Nothing, "the late answer was not for this one");
    router.cancel(&NumberOrString::Number(1));
    assert_eq!(read(&mut again), Read::End);
    assert_eq!(router.register(&request(1, None)).map(drop), Err(IdInUse), "its answer may be on its way");
    assert!(router.register(&request(2, None)).is_ok());
}

#[test]
fn a_slow_reader_misses_progress_but_never_the_answer() {
    let router = MessageRouter::default();
    let mut slow = router.register(&request(1, Some(1))).unwrap();
    for _ in 0..10 * REPLAY_LIMIT {
        router.deliver(progress(1));
    }
    router.deliver(answer(1));
    let mut notices = 0;
    while read(&mut slow) == Read::Notice {
        notices += 1;
    }
    assert_eq!((notices, slow.last()), (REPLAY_LIMIT - 1, EventId { stream: 1, number: 10 * REPLAY_LIMIT as u64 + 1 }));
}

#[test]
fn the_first_listener_gets_what_was_sent_before_it_came() {
    let router = MessageRouter::default();
    router.deliver(progress(9));
    let mut first = router.listen();
    assert_eq!([read(&mut first), read(&mut first)], [Read::Notice, Read::Nothing]);
    let mut second = router.listen();
    assert_eq!(read(&mut second), Read::Nothing);
}

#[test]
fn the_newest_listener_gets_what_belongs_to_no_request() {
    let router = MessageRouter::default();
    router.deliver(progress(9));
    let mut old = router.listen();
    let mut new = router.listen();
    router.deliver(progress(9));
    assert_eq!([read(&mut old), read(&mut new)], [Read::End, Read::Notice]);
    // A listener that resumes gets what was sent meanwhile, once.
    let last = new.last();
    drop(new);
    router.deliver(progress(9));
    let mut back = router.resume(last).unwrap();
    assert_eq!([read(&mut back), read(&mut back)], [Read::Notice, Read::Nothing]);
    router.close();
    assert_eq!(read(&mut back), Read::End);
}

#[test]
fn a_resumed_stream_continues_after_the_last_event_with_one_reader() {
    let router = MessageRouter::default();
    let mut first = router.register(&request(1, Some(1))).unwrap();
    first.write_events();
    let begin = first.last();
    router.deliver(progress(1));
    assert_eq!(read(&mut first), Read::Notice);
    let left = first.last();
    let mut second = router.resume(left).unwrap();
    assert_eq!([read(&mut first), read(&mut second)], [Read::End, Read::Nothing]);
    drop((first, second));
    router.deliver(progress(1));
    router.deliver(answer(1));
    for _ in 0..2 {
        let mut third = router.resume(left).unwrap();
        assert_eq!([read(&mut third), read(&mut third), read(&mut third)], [Read::Notice, Read::Answer, Read::End]);
    }
    let mut all = router.resume(begin).unwrap();
    assert_eq!([read(&mut all), read(&mut all), read(&mut all)], [Read::Notice, Read::Notice, Read::Answer]);
    for unknown in ["1-4", "2-0", "7-0"] {
        assert!(router.resume(unknown.parse().unwrap()).is_none(), "{unknown}");
    }
    for wrong in ["", "1", "a-1", "1-", "-1-1"] {
        assert!(wrong.parse::<EventId>().is_err(), "{wrong}");
    }
}

#[test]
fn ended_streams_are_bounded_and_answers_read_as_json_are_not_kept() {
    let router = MessageRouter::default();
    let plain = router.register(&request(0, None)).unwrap();
    let last = plain.last();
    router.deliver(answer(0));
    drop(plain);
    assert!(router.resume(last).is_none());
    let mut names = Vec::new();
    for id in 1..=MAX_ENDED_STREAMS as i64 + 1 {
        let reader = router.register(&request(id, None)).unwrap();
        reader.write_events();
        names.push(reader.last());
        router.deliver(answer(id));
    }
    assert!(router.resume(names[0]).is_none());
    assert!(names[1..].iter().all(|name| router.resume(*name).is_some()));
}
