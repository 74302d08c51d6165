//! Images, networks and shares of processors: what kinds of sandboxes there are beside the usual one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use hearth_sandbox::{
    Caller, Driver, ErrorCode, ExecRequest, FullNetwork, ImageName, Language, NetworkPolicy, SandboxConfig,
    SandboxPool, Sandboxes, SandboxesConfig,
};

use crate::{driver, out, pool, pool_config, sh};

/// A root file system with a shell in it, and nothing else that runs.
fn make_image(root: &Path) {
    let linked = Command::new("ldd").arg("/bin/sh").output().unwrap();
    let linked = String::from_utf8(linked.stdout).unwrap();
    let libraries = linked.split_whitespace().filter(|word| word.starts_with('/'));
    for file in libraries.chain(["/bin/sh"]) {
        let copy = root.join(file.trim_start_matches('/'));
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
    std::fs::create_dir(root.join("etc")).unwrap();
    std::fs::write(root.join("etc/greeting"), "from the image\n").unwrap();
    // Not an image's to give.
    for (folder, file) in [("tmp", "left"), ("work", "left"), (".hearth", "typescript")] {
        std::fs::create_dir(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join(file), "not ours").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_a_folder_and_nothing_of_the_machine() {
    let root = tempfile::tempdir().unwrap();
    make_image(root.path());
    let mut config = pool_config(driver());
    config.images.insert(ImageName::new("small").unwrap(), root.path().to_owned());
    let pool = SandboxPool::new(config);
    let config = SandboxConfig::builder().image("small").build().unwrap();
    let sandbox = pool.acquire(&config).await.unwrap();
    assert_eq!(sandbox.languages(), [Language::Sh]);
    assert_eq!(out(&sh(&sandbox, "read line < /etc/greeting; echo $line").await), "from the image\n");
    for path in ["/usr/bin/python3", "/etc/passwd", "/usr", "/tmp/left", "/work/left", "/proc/1/root/usr"] {
        assert_eq!(out(&sh(&sandbox, &format!("[ -e {path} ] && echo there")).await), "", "{path}");
    }
    for path in ["/etc/x", "/x", "/bin/sh", "/.hearth/typescript"] {
        assert_ne!(sh(&sandbox, &format!(": > {path}")).await.exit_code, Some(0), "{path}");
    }
    assert_eq!(sh(&sandbox, ": > /work/x && : > /tmp/x").await.exit_code, Some(0));
    assert_eq!(std::fs::read(root.path().join(".hearth/typescript")).unwrap(), b"not ours");
    assert!(!root.path().join("work/x").exists());
    let error = sandbox.execute(Language::Python, "print(1)").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.to_string().contains("no interpreter for python in this sandbox; there are sh"), "{error}");
    let unknown = SandboxConfig::builder().image("large").build().unwrap();
    let error = pool.acquire(&unknown).await.err().unwrap();
    assert_eq!(error.to_string(), "image: \"large\" is not one of host, small");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_full_network_is_the_machines_where_the_operator_allows_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = [0; 4];
        stream.read_exact(&mut heard).unwrap();
        stream.write_all(&heard).unwrap();
    });
    let wanted = SandboxConfig::builder().network(NetworkPolicy::Full).build().unwrap();
    let refusing = Sandboxes::new(SandboxesConfig::new(pool_config(driver())));
    refusing.start().await.unwrap();
    let error = refusing.create(&Caller::Admin, wanted.clone()).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Denied);
    assert!(error.to_string().contains("`full_network: true`"), "{error}");
    assert_eq!(refusing.stats().pool.created, 0);
    refusing.shutdown().await;

    let mut config = SandboxesConfig::new(pool_config(driver()));
    config.ceilings.full_network = FullNetwork::Allowed;
    let sandboxes = Sandboxes::new(config);
    sandboxes.start().await.unwrap();
    let sandbox = sandboxes.create(&Caller::Admin, wanted).await.unwrap();
    let code = format!(
        "import os, socket\n\
         s = socket.create_connection(('127.0.0.1', {port}), 60)\n\
         s.sendall(b'ping'); print(s.recv(4).decode(), os.environ.get('HTTP_PROXY'))\n\
         print(socket.gethostbyname('localhost'))"
    );
    let result = sandbox.execute(Language::Python, code).await.unwrap();
    assert_eq!(out(&result), "ping None\n127.0.0.1\n", "{result:?}");
    served.join().unwrap();
    // It is the network alone that is shared.
    assert_eq!(
        out(&sh(&sandbox, "cat /proc/[0-9]*/comm | grep -c hearth-spawner; [ -e /root ] || echo none").await),
        "0\nnone\n"
    );
    drop(sandbox);
    sandboxes.shutdown().await;
}

/// Three that never rest get no more than one processor's time together, however many processors there are. The other way
/// round, that they get all of it, is the machine's matter.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_gets_no_more_than_its_share_of_the_processors() {
    let probe = driver().probe().await.unwrap();
    let pool = pool().await;
    let sandbox = pool.acquire(&SandboxConfig::builder().cpus(1).build().unwrap()).await.unwrap();
    let code = "import os, time\n\
                began = time.monotonic()\n\
                for _ in range(3):\n  \
                  if os.fork() == 0:\n    \
                    while time.monotonic() - began < 3: pass\n    \
                    os._exit(0)\n\
                for _ in range(3): os.wait()\n\
                used = os.times()\n\
                print(time.monotonic() - began, used.children_user + used.children_system)";
    let result = sandbox.exec(ExecRequest::code(Language::Python, code)).await.unwrap();
    let text = out(&result);
    let (wall, used) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{result:?}"));
    let (wall, used): (f64, f64) = (wall.parse().unwrap(), used.parse().unwrap());
    assert!(used > 0.0, "{result:?}");
    // Counted in periods of a tenth of a second, of which the last may be used up in advance on each processor.
    let holds = probe.summary.contains("cpu");
    assert!(!holds || used <= wall + 0.5, "{used} s of processors' time in {wall} s");
    drop(sandbox);
    pool.shutdown().await;
}
