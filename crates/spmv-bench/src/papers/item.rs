//! What a paper has: tables, figures, algorithms, equations.

use super::numbers::Numbers;
use super::outcome::Outcome;
use super::scene::Scene;

/// A paper that the library implements.
pub(crate) struct Paper {
    /// As on the command line.
    pub(crate) id: &'static str,
    /// Text of the data file.
    pub(crate) data: &'static str,
    pub(crate) items: &'static [Item],
}

/// Something of a paper that a reader may ask for.
pub(crate) struct Item {
    /// As on the command line: `figure-4`.
    pub(crate) id: &'static str,
    /// What it shows.
    pub(crate) title: &'static str,
    pub(crate) section: &'static str,
    pub(crate) how: How,
    /// Where ours differs: the reason that the measurements show. Empty where nothing differs.
    pub(crate) reason: &'static str,
}

/// How an item is reproduced.
pub(crate) enum How {
    /// By a measurement; what it needs, in words.
    Run { needs: &'static str, run: fn(&Scene<'_>) -> anyhow::Result<Outcome> },
    /// By tests that hold it: crate, with the features that they need, and name.
    Tests(&'static [(&'static str, &'static str)]),
    /// Not here.
    Impossible(&'static str),
}

impl Paper {
    /// # Errors
    /// If the paper has no such item.
    pub(crate) fn item(&self, id: &str) -> anyhow::Result<&'static Item> {
        let known = || self.items.iter().map(|item| item.id).collect::<Vec<_>>().join(", ");
        let found = self.items.iter().find(|item| item.id == id);
        found.ok_or_else(|| anyhow::anyhow!("{} has no item '{id}'; known: {}", self.id, known()))
    }

    pub(crate) fn numbers(&self) -> Numbers {
        Numbers::of(self.data)
    }
}

impl Item {
    /// The command that shows it.
    pub(crate) fn command(&self, paper: &str) -> String {
        match &self.how {
            How::Run { .. } | How::Impossible(_) => format!("cargo xtask reproduce {paper} {}", self.id),
            How::Tests(tests) => {
                let command = |(package, name): &(&str, &str)| format!("cargo test -p {package} {name}");
                tests.iter().map(command).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// What is needed to run it.
    pub(crate) fn needs(&self) -> &'static str {
        match self.how {
            How::Run { needs, .. } => needs,
            How::Tests(_) => "nothing: tests hold it",
            How::Impossible(_) => "what cannot be had",
        }
    }
}
