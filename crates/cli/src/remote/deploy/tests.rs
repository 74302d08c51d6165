use std::path::Path;

use super::super::responses::Addresses;
use super::*;

fn options(path: &Path) -> DeployOptions {
    DeployOptions {
        path: path.to_owned(),
        name: None,
        version: None,
        owner: None,
        no_activate: false,
        no_wait: false,
        wait: false,
    }
}

fn packed(options: &DeployOptions) -> Result<(String, String), RemoteError> {
    let parcel = package(options, &mut Progress::new())?;
    assert!(parcel.length > 0);
    assert_eq!(parcel.archive.metadata().unwrap().len(), parcel.length);
    Ok((parcel.name, parcel.version))
}

#[test]
fn names_and_versions_are_those_that_are_said_nearest() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("shop");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("index.ts"), "").unwrap();
    assert!(matches!(packed(&options(&folder)), Err(RemoteError::NoVersion { .. })));
    let named = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    let said = DeployOptions { version: Some("3.0.0".into()), ..options(&folder) };
    assert_eq!(packed(&said).unwrap(), named("shop", "3.0.0"));
    std::fs::write(folder.join("package.json"), r#"{"name": "@a/shop", "version": "1.0.0"}"#).unwrap();
    assert_eq!(packed(&options(&folder)).unwrap(), named("@a/shop", "1.0.0"));
    std::fs::write(folder.join("manifest.yaml"), "name: store\nversion: 2.0.0\n").unwrap();
    assert_eq!(packed(&options(&folder)).unwrap(), named("store", "2.0.0"));
    let said = DeployOptions { name: Some("other".into()), ..options(&folder) };
    assert_eq!(packed(&said).unwrap(), named("other", "2.0.0"));
    std::fs::write(folder.join("manifest.yaml"), "nmae: store\n").unwrap();
    assert!(matches!(packed(&options(&folder)), Err(RemoteError::Manifest(_))));
}

#[test]
fn archives_are_sent_as_they_are() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("app.TGZ");
    std::fs::write(&file, "whatever").unwrap();
    assert!(matches!(packed(&options(&file)), Err(RemoteError::Archive(_))));
    let said = DeployOptions { name: Some("a".into()), version: Some("1.0.0".into()), ..options(&file) };
    assert_eq!(packed(&said).unwrap(), ("a".to_owned(), "1.0.0".to_owned()));
    let other = temp.path().join("app.txt");
    std::fs::write(&other, "whatever").unwrap();
    assert!(matches!(packed(&options(&other)), Err(RemoteError::NoArchive { .. })));
    assert!(matches!(packed(&options(&temp.path().join("nowhere"))), Err(RemoteError::File { .. })));
}

#[test]
fn what_is_not_said_stands_in_the_archive() {
    let temp = tempfile::tempdir().unwrap();
    let (folder, file) = (temp.path().join("shop"), temp.path().join("shop.tgz"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("index.ts"), "").unwrap();
    let archive = || pack(&folder, Dependencies::Include, File::create(&file).unwrap()).unwrap();
    archive();
    assert!(matches!(packed(&options(&file)), Err(RemoteError::NoName { .. })));
    std::fs::write(folder.join("manifest.yaml"), "name: store\nversion: 2.0.0\n").unwrap();
    archive();
    assert_eq!(packed(&options(&file)).unwrap(), ("store".to_owned(), "2.0.0".to_owned()));
    let said = DeployOptions { name: Some("other".into()), ..options(&file) };
    assert_eq!(packed(&said).unwrap(), ("other".to_owned(), "2.0.0".to_owned()));
}

#[test]
fn what_is_no_app_or_has_no_name_of_one_is_refused_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("My App");
    std::fs::create_dir(&folder).unwrap();
    assert!(matches!(packed(&options(&folder)), Err(RemoteError::NoApp { .. })));
    std::fs::write(folder.join("index.ts"), "").unwrap();
    let error = packed(&options(&folder)).unwrap_err().to_string();
    assert!(error.contains("\"My App\" cannot be the name of an app") && error.contains("--name"), "{error}");
}

#[test]
fn the_summary_names_the_outcome() {
    let uploaded = |active: &str| Uploaded {
        name: "shop".into(),
        version: "1.1.0".into(),
        revision: 2,
        files: 1,
        size: 2048,
        active: Some(active.into()),
        addresses: None,
        state: State::Served,
    };
    let summary = |active, outcome| summary(&uploaded(active), &outcome, Style::Plain);
    assert_eq!(summary("1.0.0", Outcome::Active), "shop@1.1.0 (revision 2, 1 file, 2.0 kB) is active: /shop/");
    assert!(summary("1.0.0", Outcome::Uploaded).ends_with("is served: /shop@1.1.0/; /shop/ is still 1.0.0"));
    assert!(summary("1.1.0", Outcome::Uploaded).ends_with("is served: /shop@1.1.0/"));
    assert!(summary("1.0.0", Outcome::Installing).contains("hearth activate shop 1.1.0"));
    let by_host = |address: Option<&str>, outcome| {
        let addresses = Some(Addresses { active: address.map(Into::into), version: None });
        super::summary(&Uploaded { addresses, ..uploaded("1.0.0") }, &outcome, Style::Plain)
    };
    assert!(by_host(Some("shop.localhost/"), Outcome::Active).ends_with(" is active: shop.localhost/"));
    assert!(
        by_host(Some("shop.localhost/"), Outcome::Uploaded).ends_with(" is served; shop.localhost/ is still 1.0.0")
    );
    assert!(by_host(None, Outcome::Active).ends_with(" is active: no host leads to it"));
}
