//! `cargo xtask pictures`: takes the pictures of `docs/pictures`, of the report page and of a notebook, in a browser.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use cargo_metadata::MetadataCommand;

use crate::command::succeed;
use crate::{python, workshop};

/// `cargo xtask pictures`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Passed on to `bench`, whose report is shown.
    #[arg(last = true)]
    rest: Vec<OsString>,
}

/// Programs that show pages, by name; `$CHROME` comes first.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Pixels across and down, the scheme, and the file.
const OF_REPORT: [(u32, u32, Scheme, &str); 3] = [
    (1280, 1500, Scheme::Light, "report.png"),
    (1280, 1500, Scheme::Dark, "report-dark.png"),
    // No window of a browser is narrower.
    (500, 1500, Scheme::Light, "report-narrow.png"),
];
const OF_NOTEBOOK: (u32, u32, Scheme, &str) = (900, 740, Scheme::Light, "notebook.png");

#[derive(Clone, Copy)]
enum Scheme {
    Light,
    Dark,
}

/// Measures, executes the notebook, and takes the pictures.
///
/// # Errors
/// Without a browser or Python, and if anything fails.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let browser = Browser::find()?;
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = metadata.workspace_root.into_std_path_buf();
    let (docs, pages) = (root.join("docs/pictures"), metadata.target_directory.join("pictures"));
    for folder in [&docs, pages.as_std_path()] {
        std::fs::create_dir_all(folder)?;
    }
    let report = pages.join("report.html").into_std_path_buf();
    let page = ["--html".into(), report.clone().into_os_string()];
    succeed(&mut workshop::of("bench", &[&page[..], &args.rest].concat())?)?;
    for (width, height, scheme, name) in OF_REPORT {
        browser.picture(&report, (width, height), scheme, &docs.join(name))?;
    }
    let notebook = python::page_of_notebook(pages.as_std_path())?;
    let (width, height, scheme, name) = OF_NOTEBOOK;
    browser.picture(&notebook, (width, height), scheme, &docs.join(name))
}

struct Browser(PathBuf);

impl Browser {
    fn find() -> anyhow::Result<Self> {
        let named = std::env::var_os("CHROME").filter(|name| !name.is_empty()).map(PathBuf::from);
        let runs = |program: &PathBuf| {
            let mut version = Command::new(program);
            version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            version.status().is_ok_and(|status| status.success())
        };
        let found = named.into_iter().chain(BROWSERS.map(PathBuf::from)).find(runs);
        Ok(Self(found.with_context(|| {
            format!("no browser: neither $CHROME nor any of {BROWSERS:?} runs; on Debian, install chromium")
        })?))
    }

    /// The upper part of a page, as large as a window.
    fn picture(
        &self,
        page: &Path,
        (width, height): (u32, u32),
        scheme: Scheme,
        to: &Path,
    ) -> anyhow::Result<()> {
        let profile = page.with_extension("profile");
        let mut browser = Command::new(&self.0);
        browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
        browser.arg(format!("--user-data-dir={}", profile.display()));
        // What a page is told that the reader prefers.
        let preferred = match scheme {
            Scheme::Light => 1,
            Scheme::Dark => 0,
        };
        browser.arg(format!("--blink-settings=preferredColorScheme={preferred}"));
        browser.arg(format!("--window-size={width},{height}")).arg(format!("--screenshot={}", to.display()));
        browser.arg(format!("file://{}", page.display())).stderr(Stdio::null());
        let _ = std::fs::remove_file(to);
        succeed(&mut browser)?;
        ensure!(to.exists(), "the browser wrote no {}", to.display());
        println!("{}", to.display());
        Ok(())
    }
}
