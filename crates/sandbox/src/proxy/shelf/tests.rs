use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::ByteStream;
use tokio::sync::mpsc;

use super::*;

/// A body that comes when the test says so.
struct Pieces(mpsc::UnboundedReceiver<Result<Bytes, BodyError>>);

impl ByteStream for Pieces {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_recv(cx)
    }
}

fn body() -> (mpsc::UnboundedSender<Result<Bytes, BodyError>>, Body) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, Body::Stream(Box::new(Pieces(receiver))))
}

async fn whole(mut parcel: Parcel) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(piece) = parcel.read(all.len() as u64).await? {
        all.extend(piece);
    }
    Ok(all)
}

async fn put(shelf: &Arc<Shelf>, place: &str, content: &'static [u8]) {
    let (_, delivery) = shelf.expect(place, None).unwrap();
    delivery.unwrap().take(Body::Full(Bytes::from_static(content)), ByteSize::mb(1)).await;
}

#[tokio::test]
async fn a_file_is_read_while_it_comes_by_all_who_want_it() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::open(folder.path().to_owned(), ByteSize::mb(1)).unwrap();
    assert!(shelf.find("a/b").is_none());
    let (mut first, delivery) = shelf.expect("a/b", Some(6)).unwrap();
    let (second, none) = shelf.expect("a/b", Some(6)).unwrap();
    assert!(none.is_none(), "it is fetched once");
    let (sender, body) = body();
    let taken = tokio::spawn(delivery.unwrap().take(body, ByteSize::mb(1)));
    sender.send(Ok(Bytes::from_static(b"one"))).unwrap();
    assert_eq!(first.read(0).await.unwrap().unwrap(), b"one");
    let third = shelf.find("a/b").unwrap();
    sender.send(Ok(Bytes::from_static(b"two"))).unwrap();
    drop(sender);
    for parcel in [first, second, third] {
        assert_eq!(whole(parcel).await.unwrap(), b"onetwo");
    }
    taken.await.unwrap();
    assert_eq!(whole(shelf.find("a/b").unwrap()).await.unwrap(), b"onetwo");
    drop(shelf);
    let again = Shelf::open(folder.path().to_owned(), ByteSize::mb(1)).unwrap();
    assert_eq!(whole(again.find("a/b").unwrap()).await.unwrap(), b"onetwo");
}

#[tokio::test]
async fn a_file_that_breaks_off_is_nobodys_and_can_be_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::open(folder.path().to_owned(), ByteSize::mb(1)).unwrap();
    let (parcel, delivery) = shelf.expect("a", None).unwrap();
    let (sender, broken) = body();
    sender.send(Ok(Bytes::from_static(b"one"))).unwrap();
    sender.send(Err(BodyError::Truncated)).unwrap();
    delivery.unwrap().take(broken, ByteSize::mb(1)).await;
    assert!(whole(parcel).await.is_err() && shelf.find("a").is_none());
    let (parcel, delivery) = shelf.expect("a", None).unwrap();
    delivery.unwrap().take(Body::Full(Bytes::from_static(b"too long")), ByteSize(4)).await;
    assert!(whole(parcel).await.is_err() && shelf.find("a").is_none());
    put(&shelf, "a", b"whole").await;
    assert_eq!(whole(shelf.find("a").unwrap()).await.unwrap(), b"whole");
    assert_eq!(fs::read_dir(folder.path().join(PARTS)).unwrap().count(), 0);
}

#[tokio::test]
async fn what_was_not_asked_for_the_longest_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::open(folder.path().to_owned(), ByteSize(10)).unwrap();
    for (place, content) in [("a", b"1234"), ("b", b"1234")] {
        put(&shelf, place, content).await;
    }
    let being_read = shelf.find("b").unwrap();
    // Clocks are coarse; what counts is the order.
    shelf.lock().kept.get_mut("b").unwrap().asked = SystemTime::UNIX_EPOCH;
    put(&shelf, "c", b"1234").await;
    assert!(shelf.find("a").is_some() && shelf.find("b").is_none() && shelf.find("c").is_some());
    assert_eq!(whole(being_read).await.unwrap(), b"1234");
    assert!(!folder.path().join("b").exists());
    put(&shelf, "d", b"more than there is room for").await;
    assert!(shelf.find("a").is_some() && shelf.find("c").is_some() && shelf.find("d").is_none());
}
