use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::ByteStream;
use tokio::sync::mpsc;

use super::*;

/// A body whose pieces are sent by the test.
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

async fn whole(mut cached: CachedFile) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(piece) = cached.read(all.len() as u64).await? {
        all.extend(piece);
    }
    Ok(all)
}

async fn put(cache: &Arc<PackageCache>, place: &str, content: &'static [u8]) {
    let (_, writer) = cache.insert(place, None).unwrap();
    writer.unwrap().write(Body::Full(Bytes::from_static(content)), ByteSize::mb(1)).await;
}

#[tokio::test]
async fn a_file_is_read_by_all_readers_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PackageCache::open(folder.path().to_owned(), ByteSize::mb(1)).unwrap();
    assert!(cache.find("a/b").is_none());
    let (mut first, writer) = cache.insert("a/b", Some(6)).unwrap();
    let (second, none) = cache.insert("a/b", Some(6)).unwrap();
    assert!(none.is_none(), "it is fetched once");
    let (sender, body) = body();
    let taken = tokio::spawn(writer.unwrap().write(body, ByteSize::mb(1)));
    sender.send(Ok(Bytes::from_static(b"one"))).unwrap();
    assert_eq!(first.read(0).await.unwrap().unwrap(), b"one");
    let third = cache.find("a/b").unwrap();
    sender.send(Ok(Bytes::from_static(b"two"))).unwrap();
    drop(sender);
    for file in [first, second, third] {
        assert_eq!(whole(file).await.unwrap(), b"onetwo");
    }
    taken.await.unwrap();
    assert_eq!(whole(cache.find("a/b").unwrap()).await.unwrap(), b"onetwo");
    drop(cache);
    let again = PackageCache::open(folder.path().to_owned(), ByteSize::mb(1)).unwrap();
    assert_eq!(whole(again.find("a/b").unwrap()).await.unwrap(), b"onetwo");
}

#[tokio::test]
async fn a_file_that_breaks_off_is_not_kept_and_can_be_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PackageCache::open(folder.path().to_owned(), ByteSize::mb(1)).unwrap();
    let (file, writer) = cache.insert("a", None).unwrap();
    let (sender, broken) = body();
    sender.send(Ok(Bytes::from_static(b"one"))).unwrap();
    sender.send(Err(BodyError::Truncated)).unwrap();
    writer.unwrap().write(broken, ByteSize::mb(1)).await;
    assert!(whole(file).await.is_err() && cache.find("a").is_none());
    let (file, writer) = cache.insert("a", None).unwrap();
    writer.unwrap().write(Body::Full(Bytes::from_static(b"too long")), ByteSize(4)).await;
    assert!(whole(file).await.is_err() && cache.find("a").is_none());
    put(&cache, "a", b"whole").await;
    assert_eq!(whole(cache.find("a").unwrap()).await.unwrap(), b"whole");
    assert_eq!(fs::read_dir(folder.path().join(PARTIAL_DIR)).unwrap().count(), 0);
}

#[tokio::test]
async fn the_least_recently_used_file_is_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let cache = PackageCache::open(folder.path().to_owned(), ByteSize(10)).unwrap();
    for (place, content) in [("a", b"1234"), ("b", b"1234")] {
        put(&cache, place, content).await;
    }
    let being_read = cache.find("b").unwrap();
    // Clocks are coarse; what counts is the order.
    cache.lock().kept.get_mut("b").unwrap().last_used = SystemTime::UNIX_EPOCH;
    put(&cache, "c", b"1234").await;
    assert!(cache.find("a").is_some() && cache.find("b").is_none() && cache.find("c").is_some());
    assert_eq!(whole(being_read).await.unwrap(), b"1234");
    assert!(!folder.path().join("b").exists());
    put(&cache, "d", b"more than there is room for").await;
    assert!(cache.find("a").is_some() && cache.find("c").is_some() && cache.find("d").is_none());
}
