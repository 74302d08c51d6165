//! `lowMemory`: an app that stays small, at the price of time.

use crate::folder::{Folder, eventually};

const APP: &str = r#"
let kept = [], count = 0;
const fill = (list, megabytes) => {
  // A quarter of a megabyte each.
  for (let n = 0; n < megabytes * 4; n++) list.push(new Array(65536).fill(n));
};
export default {
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/grow") fill(kept, 24);
    else if (path === "/drop") fill(kept = [], 6), kept = [];
    else if (path === "/count") await new Promise((resolve) => setTimeout(resolve, 1));
    return new Response(String(++count));
  },
};
"#;

fn heaps(server: &crate::server::Server) -> u64 {
    server.report()["memory"]["heaps"].as_u64().unwrap()
}

#[test]
fn a_small_app_gives_back_what_it_does_not_use() {
    let folder = Folder::with("small", &[("app/index.js", APP), ("app/manifest.yaml", "lowMemory: true\n")]);
    let server = folder.serve(&["--spares", "0"]);
    assert_eq!(server.get("/app/grow").status, 200);
    eventually(&server, "it has grown", || heaps(&server) > 24 << 20);
    eventually(&server, "it is small again", || {
        assert_eq!(server.get("/app/drop").status, 200);
        heaps(&server) < 16 << 20
    });
}

#[test]
fn a_small_app_has_one_worker_and_half_the_heap() {
    let manifest = "lowMemory: true\nmemory: 32mb\n";
    let folder = Folder::with("small-one", &[("app/index.js", APP), ("app/manifest.yaml", manifest)]);
    let server = folder.serve(&["--threads", "2"]);
    let mut counts: Vec<u32> = std::thread::scope(|scope| {
        let asking = || server.get("/app/count").text().parse().unwrap();
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(asking)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    counts.sort_unstable();
    assert_eq!(counts, (1..=8).collect::<Vec<_>>(), "all of them found the same module");
    server.get("/app/grow").assert_error(503, "limit_heap", &["of 16mb"]);
}
