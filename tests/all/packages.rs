//! Packages from npm and PyPI for tests. They are installed once, below `target/`, and again when the list of them changes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the files in `from`, with the packages that its lock file names. `name` is that of the copy.
pub fn packages(from: &Path, name: &str) -> PathBuf {
    // Two tests may want them at the same time.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let lock = std::fs::read(from.join("package-lock.json")).unwrap();
    // Written last: there is a whole installation of it.
    let done = to.join("installed-lock.json");
    if std::fs::read(&done).ok().as_ref() != Some(&lock) {
        let _ = std::fs::remove_dir_all(&to);
        std::fs::create_dir_all(&to).unwrap();
        copy(from, &to);
        install(&to);
        std::fs::write(&done, &lock).unwrap();
    }
    copy(from, &to);
    to
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn install(folder: &Path) {
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let output = Command::new("npm").args(arguments).current_dir(folder).output().unwrap_or_else(|error| {
        panic!("these tests need npm, to install what {} lists, and it cannot be run: {error}", folder.display())
    });
    let (told, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "npm ci failed in {}:\n{told}{failed}", folder.display());
}

/// A Python interpreter with what `requirements.txt` in `from` lists, in an environment of its own. `name` is that of the
/// environment.
pub fn python(from: &Path, name: &str) -> PathBuf {
    // Two tests may want it at the same time.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (list, done) = (from.join("requirements.txt"), to.join("installed.txt"));
    let wanted = std::fs::read(&list).unwrap();
    let interpreter = to.join("bin/python");
    if std::fs::read(&done).ok().as_ref() != Some(&wanted) {
        let _ = std::fs::remove_dir_all(&to);
        run(Command::new("python3").args(["-m", "venv"]).arg(&to));
        run(Command::new(&interpreter).args(["-m", "pip", "install", "--quiet", "--no-input", "-r"]).arg(&list));
        std::fs::write(&done, &wanted).unwrap();
    }
    interpreter
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let (told, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed:\n{told}{failed}");
}
