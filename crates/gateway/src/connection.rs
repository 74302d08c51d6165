//! A connection's life: heads are read, one exchange follows the other, until either side has had enough.
//!
//! ```text
//! Idle --first byte--> Head --complete--> exchange --> Idle | Head (pipelined) | end
//!   | keep_alive_timeout, EOF,    | head_timeout: 408
//!   | drain: closed in silence    | malformed, too large: 400, 431 ...
//! ```
//! Answers are flushed when the inbox has no further complete request, so pipelined requests that are answered at once
//! share a write.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use hearth_core::Dispatch;
use tokio::net::TcpStream;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use crate::clock::{Clock, TICK};
use crate::config::Config;
use crate::date::DateCache;
use crate::drain::{Drain, Phase};
use crate::exchange::{HIGH_WATER, Line, Then, exchange, turn_away_unread};
use crate::head::{self, Head, Rules};
use crate::reject::Reject;
use crate::request_id::Ids;
use crate::rescue::FailureLog;
use crate::stats::{Stats, Tally};
use crate::wire::{Ending, READ, Wire};

/// What all connections of a server share.
pub struct Shared<D> {
    pub config: Config,
    pub dispatch: Arc<D>,
    pub failures: FailureLog,
    pub clock: Clock,
    pub ids: Ids,
    pub stats: Arc<Stats>,
    pub drain: Drain,
}

enum Awaited {
    Head(Head),
    Reject(Reject),
    End(Ending),
}

enum More {
    Bytes,
    End(Ending),
    TooSlow,
}

/// Serves a connection to its end, or until the drain is over.
pub async fn serve<D: Dispatch>(shared: Arc<Shared<D>>, stream: TcpStream) {
    let mut registration = None;
    let mut life = pin!(live(&shared, stream));
    poll_fn(|cx| {
        registration.get_or_insert_with(|| shared.drain.register(cx.waker().clone()));
        if shared.drain.phase() == Phase::Over {
            return Poll::Ready(());
        }
        life.as_mut().poll(cx)
    })
    .await;
}

async fn live<D: Dispatch>(shared: &Shared<D>, stream: TcpStream) {
    let mut line = Line {
        wire: Wire::new(stream, shared.config.write_timeout),
        tally: Tally::new(shared.stats.clone()),
        date: DateCache::new(),
    };
    let ending = loop {
        let then = match next_head(shared, &mut line.wire).await {
            Awaited::Head(head) => exchange(shared, &mut line, head).await,
            Awaited::Reject(reject) => turn_away_unread(shared, &mut line, reject),
            Awaited::End(ending) => Then::End(ending),
        };
        if let Then::End(ending) = then {
            break ending;
        }
        // A client that sends faster than we answer must not keep the thread to itself.
        consume_budget().await;
    };
    line.wire.end(ending).await;
}

async fn next_head<D>(shared: &Shared<D>, wire: &mut Wire) -> Awaited {
    let rules = Rules {
        scheme: shared.config.scheme.prefix(),
        default_host: &shared.config.default_host,
        max_head: shared.config.max_head.bytes() as usize,
    };
    if wire.outbox.len() >= HIGH_WATER && poll_fn(|cx| wire.poll_flush(cx)).await.is_err() {
        return Awaited::End(Ending::Drop);
    }
    let mut seen = 0;
    loop {
        // A head, and every error in one, ends with a line: without a new one there is nothing to find.
        let fresh = &wire.inbox[seen..];
        if !fresh.is_empty()
            && (seen == 0 || memchr::memchr(b'\n', fresh).is_some() || wire.inbox.len() >= rules.max_head)
        {
            match head::parse(&wire.inbox, &rules) {
                Ok(Some(head)) => {
                    wire.inbox.advance(head.length);
                    wire.read_timer.stop();
                    return Awaited::Head(head);
                }
                Ok(None) => {}
                Err(reject) => return Awaited::Reject(reject),
            }
        }
        seen = wire.inbox.len();
        match poll_fn(|cx| poll_more(cx, shared, wire)).await {
            More::Bytes => {}
            More::End(ending) => return Awaited::End(ending),
            More::TooSlow => return Awaited::Reject(Reject::HeadTimeout),
        }
    }
}

/// Sends what there is, then reads.
fn poll_more<D>(cx: &mut Context<'_>, shared: &Shared<D>, wire: &mut Wire) -> Poll<More> {
    match wire.poll_flush(cx) {
        Poll::Ready(Ok(())) => {}
        Poll::Ready(Err(_)) => return Poll::Ready(More::End(Ending::Drop)),
        Poll::Pending => return Poll::Pending,
    }
    if wire.eof {
        return Poll::Ready(More::End(Ending::Close));
    }
    let idle = wire.inbox.is_empty();
    match wire.poll_fill(cx, READ) {
        Poll::Ready(Ok(1..)) => {
            if idle {
                // From here on it is the head's time that counts.
                wire.read_timer.stop();
            }
            return Poll::Ready(More::Bytes);
        }
        Poll::Ready(Ok(0)) => return Poll::Ready(More::End(Ending::Close)),
        Poll::Ready(Err(_)) => return Poll::Ready(More::End(Ending::Drop)),
        Poll::Pending => {}
    }
    if !idle {
        return wire.read_timer.poll(cx, shared.config.head_timeout, Instant::now).map(|()| More::TooSlow);
    }
    wire.trim();
    if shared.drain.phase() != Phase::Open {
        return Poll::Ready(More::End(Ending::Close));
    }
    let late = || shared.clock.recent() + TICK;
    wire.read_timer.poll(cx, shared.config.keep_alive_timeout, late).map(|()| More::End(Ending::Close))
}
