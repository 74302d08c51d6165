use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
fn main() {
    let a = std::env::args().nth(1).unwrap();
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap().block_on(async {
        tokio::spawn(async move {
            let l = tokio::net::TcpListener::bind(a).await.unwrap();
            loop {
                let (s, _) = l.accept().await.unwrap();
                s.set_nodelay(true).unwrap();
                tokio::spawn(http1::Builder::new().serve_connection(
                    TokioIo::new(s),
                    service_fn(|_: Request<Incoming>| async {
                        let mut r = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
                        r.headers_mut().insert("content-type", "text/plain;charset=UTF-8".parse().unwrap());
                        Ok::<_, Infallible>(r)
                    }),
                ));
            }
        })
        .await
        .unwrap();
    })
}
