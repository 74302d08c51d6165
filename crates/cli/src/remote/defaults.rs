//! The server's address and data folder where no flag or variable gives them: from `hearth.yaml`, which the server reads too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use hearth_config::{AdminListen, OperatorConfig};

use super::address::{AddressError, AdminAddress};
use super::error::RemoteError;
use crate::configuration;
use crate::serve::{ADMIN, DATA};

/// Flags rank above the file, and that above the defaults.
pub(super) fn resolve(
    config: Option<&Path>,
    admin: Option<AdminAddress>,
    data: Option<PathBuf>,
) -> Result<(AdminAddress, PathBuf), RemoteError> {
    let (path, text) = configuration::text(config).map_err(|error| RemoteError::Configuration(error.to_string()))?;
    let operator =
        OperatorConfig::parse(&text, &path).map_err(|errors| RemoteError::Configuration(errors.to_string()))?;
    let admin = match (admin, operator.admin) {
        (Some(admin), _) => admin,
        (None, Some(AdminListen::Off)) => {
            return Err(RemoteError::Configuration(format!("{}: admin: {}", path.display(), AddressError::Off)));
        }
        (None, Some(AdminListen::At(address))) => AdminAddress::from(reachable(address)),
        (None, None) => ADMIN.parse().expect("a constant"),
    };
    Ok((admin, data.or(operator.data).unwrap_or_else(|| DATA.into())))
}

/// A server that listens on all addresses is reached on loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_file_says_what_was_left_open() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("hearth.yaml");
        let said = |text: &str, admin: Option<&str>, data: Option<&str>| {
            std::fs::write(&file, text).unwrap();
            let admin = admin.map(|admin| admin.parse().unwrap());
            resolve(Some(&file), admin, data.map(PathBuf::from)).map(|(admin, data)| (admin.to_string(), data))
        };
        let found = |admin: &str, data: &str| (admin.to_owned(), PathBuf::from(data));
        let text = "admin: 0.0.0.0:9191\ndata: /srv/data\n";
        assert_eq!(said(text, None, None).unwrap(), found("127.0.0.1:9191", "/srv/data"));
        assert_eq!(said(text, Some("[::1]:1"), None).unwrap(), found("[::1]:1", "/srv/data"));
        assert_eq!(said(text, None, Some("here")).unwrap(), found("127.0.0.1:9191", "here"));
        assert_eq!(said("admin: '[::]:9191'", None, None).unwrap(), found("[::1]:9191", ".hearth"));
        assert_eq!(said("", None, None).unwrap(), found("127.0.0.1:9090", ".hearth"));
        let told = |text: &str| said(text, None, None).unwrap_err().to_string();
        assert!(told("admin: off").contains("hearth.yaml: admin: the server was told to have no admin API"));
        assert!(told("amdin: off").contains("did you mean admin?"));
        assert!(said("admin: off", Some("localhost"), None).is_ok());
    }
}
