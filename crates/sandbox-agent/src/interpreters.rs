//! Which program runs which language, how a source reaches it, and the scripts with which
//! interpreters are started ahead.
//!
//! A request to a waiting interpreter is a row of texts, each ended by a zero byte: the source's
//! path, the folder to change to (empty: stay), the number of variables, the variables. Shells can
//! read that, too.

use std::io;
use std::path::{Path, PathBuf};

use hearth_sandbox_agent::Language;

/// Where programs are looked for, as in the sandbox's `PATH`.
const FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// Folder of sources while they run. In the folder for scratch files, so that they count against
/// its size.
const SOURCES: &str = "/tmp/.hearth";

pub const PYTHON_ZYGOTE: &str = include_str!("../scripts/zygote.py");
pub const NODE_SPARE: &str = concat!(include_str!("../scripts/typescript.cjs"), include_str!("../scripts/spare.cjs"));
pub const NODE_SESSION: &str =
    concat!(include_str!("../scripts/typescript.cjs"), include_str!("../scripts/session.cjs"));
pub const BASH_SESSION: &str = include_str!("../scripts/session.bash");

/// The TypeScript compiler, which the driver puts into the sandbox.
const TYPESCRIPT: &str = "/.hearth/typescript";

/// The interpreters that this sandbox has.
pub struct Interpreters {
    pub python: Option<String>,
    pub node: Option<String>,
    has_typescript: bool,
    pub bash: Option<String>,
    pub sh: Option<String>,
}

impl Interpreters {
    pub fn find() -> Self {
        let is_there = |path: &str| nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok();
        let find = |name: &str| FOLDERS.iter().map(|folder| format!("{folder}/{name}")).find(|path| is_there(path));
        Self {
            python: find("python3"),
            node: find("node"),
            has_typescript: is_there(TYPESCRIPT),
            bash: find("bash"),
            sh: find("sh"),
        }
    }

    /// Path of the interpreter of `language`.
    pub fn path(&self, language: Language) -> Option<&str> {
        match language {
            Language::Python => self.python.as_deref(),
            Language::JavaScript => self.node.as_deref(),
            Language::TypeScript => self.node.as_deref().filter(|_| self.has_typescript),
            Language::Bash => self.bash.as_deref(),
            Language::Sh => self.sh.as_deref(),
        }
    }

    pub fn languages(&self) -> Vec<Language> {
        Language::ALL.into_iter().filter(|language| self.path(*language).is_some()).collect()
    }
}

/// Stores a source in a file of its own, in a folder that is removed with the run. Returns both.
pub fn store(name: &str, language: Language, source: &[u8]) -> io::Result<(PathBuf, PathBuf)> {
    let folder = Path::new(SOURCES).join(name);
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(match language {
        Language::Python => "main.py",
        Language::JavaScript => "main.js",
        Language::TypeScript => "main.ts",
        Language::Bash | Language::Sh => "main.sh",
    });
    match std::fs::write(&file, source) {
        Ok(()) => Ok((folder, file)),
        Err(error) => {
            // Removes what was written so far.
            let _ = std::fs::remove_dir_all(&folder);
            Err(error)
        }
    }
}

/// Stores a script that an interpreter is started with.
pub fn script(name: &str, text: &str) -> io::Result<String> {
    let path = format!("{SOURCES}/{name}");
    std::fs::create_dir_all(SOURCES)?;
    replace(Path::new(&path), text)?;
    Ok(path)
}

/// Gives a file another text as one step: an interpreter that was started before may read the file now, and would run an empty
/// script to its end without a word.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })
}

/// A request to a waiting interpreter. `None` on a zero byte, which would end a text early.
pub fn request(path: &Path, cwd: &str, env: &[(String, String)]) -> Option<Vec<u8>> {
    let mut texts = vec![path.to_str()?.to_owned(), cwd.to_owned(), env.len().to_string()];
    texts.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
    if texts.iter().any(|text| text.contains('\0')) {
        return None;
    }
    Some(texts.iter().flat_map(|text| text.bytes().chain([0])).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::replace;

    #[test]
    fn a_script_is_never_seen_in_part() {
        let path = std::env::temp_dir().join(format!("hearth-script-{}.cjs", std::process::id()));
        let text = "x".repeat(100_000);
        replace(&path, &text).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(std::fs::read(&path).unwrap().len(), text.len());
                }
            });
            for _ in 0..500 {
                replace(&path, &text).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        std::fs::remove_file(&path).unwrap();
    }
}
