//! Says to the service manager how we are, as systemd's `sd_notify` has it: a datagram to the socket that `NOTIFY_SOCKET`
//! names. Whoever is not run by one says nothing. Nothing depends on whether anybody hears it.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Notifier {
    to: Option<SocketAddr>,
    /// How often it wants to hear that we are alive.
    watchdog: Option<Duration>,
}

impl Notifier {
    pub fn from_environment() -> Self {
        let to = std::env::var_os("NOTIFY_SOCKET").and_then(|name| address(&name));
        let ours = std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let watchdog = std::env::var("WATCHDOG_USEC").ok().filter(|_| ours).and_then(|text| text.parse().ok());
        Self { to, watchdog: watchdog.filter(|micros| *micros > 0).map(Duration::from_micros) }
    }

    pub fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nSTATUS={status}\n"));
    }

    pub fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=Requests in flight are finished\n");
    }

    /// Until [`ready`](Self::ready) is said again, maybe by another program in our place.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// Says again and again that we are alive, for as long as whoever polls this is.
    pub async fn keep_alive(self) {
        let Some(interval) = self.watchdog else { return std::future::pending().await };
        loop {
            self.say("WATCHDOG=1\n");
            tokio::time::sleep(interval / 2).await;
        }
    }

    fn say(&self, text: &str) {
        let Some(to) = &self.to else { return };
        let sent = UnixDatagram::unbound().and_then(|socket| {
            socket.set_nonblocking(true)?;
            socket.send_to_addr(text.as_bytes(), to)
        });
        if let Err(error) = sent {
            tracing::debug!(%error, "The service manager cannot be told");
        }
    }
}

/// `/run/…`, or `@name` for one that has no file.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}
