//! The faults that are injected, and whether they may lose requests.

use std::cell::Cell;

use hearth_sys::procfs;

use crate::folder::{Folder, eventually, says};
use crate::random::Random;
use crate::server::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// By an owner that has not aborted before.
    Abort,
    /// By an owner that is cordoned already.
    AbortAgain,
    Stuck,
    Kill,
    Freeze,
    KillStandby,
    Deploy,
    Reload,
    Replace,
    Upgrade,
    Cordon,
}

/// A server with an app that all clients request, and culprits.
pub struct World {
    pub server: Server,
    folder: Folder,
    /// Number of aborts so far, each by another owner.
    aborts: Cell<usize>,
    deploys: Cell<usize>,
    /// Faults that may lose requests later.
    belated: Cell<u64>,
}

const CULPRIT: &str = r#"export default { fetch(request) { switch (new URL(request.url).pathname) {
  case "/abort": return new Response(String("x".repeat(2 ** 27 + 1e7).split("").length));
  case "/stuck": return new Response(String("a".repeat(14e4).lastIndexOf("a".repeat(7e4) + "b")));
  default: return new Response("fine");
} } };"#;

impl Fault {
    pub const ALL: [Self; 11] = [
        Self::Abort,
        Self::AbortAgain,
        Self::Stuck,
        Self::Kill,
        Self::Freeze,
        Self::KillStandby,
        Self::Deploy,
        Self::Reload,
        Self::Replace,
        Self::Upgrade,
        Self::Cordon,
    ];

    /// Whether requests in flight in a main cell may be lost.
    pub fn costs_requests(self) -> bool {
        matches!(self, Self::Abort | Self::Kill | Self::Freeze | Self::KillStandby)
    }
}

impl World {
    pub fn begin(mode: &str) -> Self {
        let folder = Folder::with("chaos", &[("victim/index.js", &*says("well")), ("stuck/index.js", CULPRIT)]);
        let file = folder.path().with_extension("yaml");
        std::fs::write(&file, "stuck_limit: 500ms\ndefaults: { cpu: 300ms }\n").unwrap();
        let server = folder.serve(&[
            "--standby",
            "1",
            "--config",
            file.to_str().unwrap(),
            "--threads",
            "2",
            "--execution",
            mode,
        ]);
        let world = Self { server, folder, aborts: Cell::new(0), deploys: Cell::new(0), belated: Cell::new(0) };
        world.server.expect("/victim/", "well");
        world
    }

    pub fn belated(&self) -> u64 {
        self.belated.get()
    }

    pub fn commit(&self, fault: Fault, random: &mut Random) {
        self.await_standby();
        match fault {
            Fault::Abort => {
                let name = format!("culprit{}", self.aborts.get());
                self.aborts.set(self.aborts.get() + 1);
                self.folder.write(&format!("{name}/index.js"), CULPRIT);
                let here = || self.server.get(&format!("/{name}/")).status == 200;
                eventually(&self.server, "the culprit is served", here);
                self.provoke(&format!("/{name}/abort"));
                let crashes = || self.server.ask_json("GET", "/admin/crashes", "")["crashes"][0]["app"] == *name;
                eventually(&self.server, "the culprit is named", crashes);
            }
            Fault::AbortAgain if self.aborts.get() > 0 => {
                self.provoke(&format!("/culprit{}/abort", random.below(self.aborts.get())));
            }
            Fault::AbortAgain => {}
            Fault::Stuck => {
                let mut client = self.server.connect();
                client.start("GET", "/stuck/stuck", &[("connection", "close")]);
                client.rest();
            }
            Fault::Kill => crate::signal(self.server.cell(), "-KILL"),
            Fault::Freeze => crate::signal(self.server.cell(), "-STOP"),
            Fault::KillStandby => {
                // The process id may have been reused meanwhile.
                let children = self.children();
                crate::signal(*random.pick(&children), "-KILL");
                self.belated.set(self.belated.get() + 1);
            }
            Fault::Deploy => {
                self.deploys.set(self.deploys.get() + 1);
                let text = format!("deploy {}", self.deploys.get());
                self.folder.say("changing", &text);
                let news = || self.server.get("/changing/").text() == text;
                eventually(&self.server, "what is new is served", news);
            }
            Fault::Reload => drop(self.server.ask_json("POST", "/admin/reload", "")),
            Fault::Replace => drop(self.server.ask_json("POST", "/admin/replace", "")),
            Fault::Upgrade => {
                let programs = || self.server.log().matches("Listening on http://").count();
                let before = programs();
                self.server.ask_json("POST", "/admin/upgrade", "");
                eventually(&self.server, "the new program serves", || programs() > before);
            }
            Fault::Cordon => {
                self.server.ask_json("PUT", "/admin/cordons/victim", "");
                self.server.ask_json("DELETE", "/admin/cordons/victim", "");
            }
        }
    }

    /// Removes all culprits.
    pub fn remove_culprits(&self) {
        for number in 0..self.aborts.get() {
            self.folder.remove(&format!("culprit{number}"));
        }
        self.folder.remove("stuck");
        let cordons = || self.server.ask_json("GET", "/admin/cordons", "")["cordons"].as_array().unwrap().is_empty();
        eventually(&self.server, "no owner is cordoned any more", cordons);
    }

    pub fn metric(&self, name: &str) -> u64 {
        let text = self.server.ask("GET", "/metrics", "").text().to_owned();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.map_or(0, |value| value.parse::<f64>().unwrap() as u64)
    }

    /// The processes of serving cells and standbys.
    pub fn children(&self) -> Vec<u32> {
        let ours = procfs::processes().filter(|process| process.is_alive() && process.parent == self.server.id());
        ours.map(|process| process.id).collect()
    }

    fn await_standby(&self) {
        eventually(&self.server, "a cell stands by", || self.metric("hearth_cells_standby") == 1);
    }

    fn provoke(&self, path: &str) {
        let mut client = self.server.connect();
        client.start("GET", path, &[("connection", "close")]);
        client.rest();
    }
}
