//! `hearth init`: writes a small working app. The templates are the examples that `make run` serves, so there is one copy of
//! each.

mod template;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hearth_apps::discovery::{AppNameError, check_name};

use self::template::Template;

#[derive(Debug, Args)]
pub struct InitOptions {
    /// The folder to make; its name is the app's.
    #[arg(value_name = "NAME")]
    pub folder: PathBuf,
    /// What kind of app.
    #[arg(long, short, value_enum, default_value_t = Template::Hello)]
    pub template: Template,
}

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("{} cannot be an app: {source}", folder.display())]
    Name { folder: PathBuf, source: AppNameError },
    #[error("{} is there already, and not empty: choose another name, or remove it", folder.display())]
    Taken { folder: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

pub fn init(options: &InitOptions) -> anyhow::Result<()> {
    let files = make(&options.folder, options.template)?;
    print!("{}", told(&options.folder, options.template, &files));
    Ok(())
}

/// Writes the app and lists the files.
fn make(folder: &Path, template: Template) -> Result<Vec<&'static str>, InitError> {
    let name = app_name(&std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
    check_name(&name).map_err(|source| InitError::Name { folder: folder.to_owned(), source })?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InitError::Write { path, source }
    };
    match fs::read_dir(folder).map(|entries| entries.flatten().all(|entry| is_hidden(&entry))) {
        Ok(true) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(folder).map_err(failed(folder))?,
        Ok(false) | Err(_) => return Err(InitError::Taken { folder: folder.to_owned() }),
    }
    let mut written = Vec::new();
    for file in template.files() {
        let path = folder.join(file.name);
        let mut out = fs::File::create_new(&path).map_err(failed(&path))?;
        out.write_all(&file.named(&name)).map_err(failed(&path))?;
        written.push(file.name);
    }
    Ok(written)
}

/// `.git` and other hidden files are ignored.
fn is_hidden(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// The last part of the path, with the scope before it if there is one.
fn app_name(folder: &Path) -> String {
    let part = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = part(folder).unwrap_or_default();
    match folder.parent().and_then(part) {
        Some(scope) if scope.starts_with('@') => format!("{scope}/{name}"),
        _ => name,
    }
}

fn told(folder: &Path, template: Template, files: &[&str]) -> String {
    let folder = folder.display();
    let mut out = format!("made {folder} ({template}): {}\n\nnext:\n", files.join(", "));
    if template.has_packages() {
        out.push_str(&format!(
            "  (cd {folder} && npm install)  # for your editor; served, it is installed by itself\n"
        ));
    }
    out.push_str(&format!("  hearth dev {folder}  # serves it, and again whenever it changes\n"));
    // Templates with packages have their version in package.json.
    let version = if template.has_packages() { "" } else { " --version 1.0.0" };
    out.push_str(&format!("  hearth deploy {folder}{version}  # uploads it to a server\n"));
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::ValueEnum;
    use hearth_apps::AppModules;

    use super::*;

    #[test]
    fn every_template_is_an_app() {
        let temp = tempfile::tempdir().unwrap();
        for template in Template::value_variants() {
            let folder = temp.path().join(format!("my-{template}"));
            let files = make(&folder, *template).unwrap();
            let entry = files.iter().find(|file| file.starts_with("index.")).unwrap();
            if let Ok(text) = fs::read_to_string(folder.join("manifest.yaml")) {
                hearth_config::Manifest::parse(&text, &folder.join("manifest.yaml")).unwrap();
            }
            if template.has_packages() {
                let lock = fs::read_to_string(folder.join("package-lock.json")).unwrap();
                assert!(lock.contains(&format!("\"name\": \"my-{template}\"")) && !lock.contains("resolved"), "{lock}");
                assert!(!lock.contains("example-"), "{lock}");
            } else if !entry.ends_with(".html") {
                AppModules::open(&folder, Path::new(entry)).unwrap().preload().unwrap();
            }
            assert!(told(&folder, *template, &files).contains("hearth dev"));
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("taken");
        fs::create_dir(&folder).unwrap();
        fs::create_dir(folder.join(".git")).unwrap();
        make(&folder, Template::Hello).unwrap();
        assert!(matches!(make(&folder, Template::Hello), Err(InitError::Taken { .. })));
        fs::write(temp.path().join("file"), "").unwrap();
        assert!(matches!(make(&temp.path().join("file"), Template::Hello), Err(InitError::Taken { .. })));
    }

    #[test]
    fn names_are_those_of_apps() {
        assert_eq!(app_name(Path::new("apps/hello")), "hello");
        assert_eq!(app_name(Path::new("apps/@acme/hello")), "@acme/hello");
        let temp = tempfile::tempdir().unwrap();
        for name in ["_hidden", "a b", "a@1.0.0"] {
            assert!(matches!(make(&temp.path().join(name), Template::Hello), Err(InitError::Name { .. })), "{name}");
        }
        assert!(matches!(make(Path::new(".."), Template::Hello), Err(InitError::Name { .. })));
    }
}
