//! `hearth completions`: shell completion scripts.

use std::io;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell as Known, generate};

use crate::arguments::Arguments;

const PLACES: &str = "Put it where your shell looks:
  hearth completions bash > ~/.local/share/bash-completion/completions/hearth
  hearth completions zsh > \"${fpath[1]}/_hearth\"
  hearth completions fish > ~/.config/fish/completions/hearth.fish";

#[derive(Debug, Args)]
#[command(after_help = PLACES)]
pub struct CompletionsOptions {
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub fn completions(options: &CompletionsOptions) -> anyhow::Result<()> {
    let shell = match options.shell {
        Shell::Bash => Known::Bash,
        Shell::Zsh => Known::Zsh,
        Shell::Fish => Known::Fish,
    };
    write(shell, &mut io::stdout().lock());
    Ok(())
}

fn write(shell: impl Generator, out: &mut impl io::Write) {
    generate(shell, &mut Arguments::command(), "hearth", out);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_completed() {
        for shell in [Known::Bash, Known::Zsh, Known::Fish] {
            let mut out = Vec::new();
            write(shell, &mut out);
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("deploy") && text.contains("secrets"), "{shell}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
