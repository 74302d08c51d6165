//! Notifies the service manager of the server's state, by systemd's `sd_notify` protocol: a datagram to the socket that
//! `NOTIFY_SOCKET` names. Without that variable nothing is sent. Failures are ignored.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Notifier {
    to: Option<SocketAddr>,
    /// The watchdog interval of the service manager.
    watchdog: Option<Duration>,
}

impl Notifier {
    pub fn from_environment() -> Self {
        let to = std::env::var_os("NOTIFY_SOCKET").and_then(|name| address(&name));
        let is_meant = std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let watchdog = std::env::var("WATCHDOG_USEC").ok().filter(|_| is_meant).and_then(|text| text.parse().ok());
        Self { to, watchdog: watchdog.filter(|micros| *micros > 0).map(Duration::from_micros) }
    }

    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}\n"));
    }

    pub fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Requests in flight are finished\n");
    }

    /// Until [`ready`](Self::ready) is sent again, by this program or by the next one.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// Sends watchdog notifications for as long as the future is polled.
    pub async fn keep_alive(self) {
        let Some(interval) = self.watchdog else { return std::future::pending().await };
        loop {
            self.send("WATCHDOG=1\n");
            tokio::time::sleep(interval / 2).await;
        }
    }

    fn send(&self, text: &str) {
        let Some(to) = &self.to else { return };
        let sent = UnixDatagram::unbound().and_then(|socket| {
            socket.set_nonblocking(true)?;
            socket.send_to_addr(text.as_bytes(), to)
        });
        if let Err(error) = sent {
            tracing::debug!(%error, "Service manager notification failed");
        }
    }
}

/// `/run/…`, or `@name` for an abstract socket.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}
