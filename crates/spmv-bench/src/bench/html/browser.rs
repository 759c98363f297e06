//! The page in a real browser, if there is one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::page;
use super::tests::{pictures, sample};

/// Smallest picture of a page that is not blank, bytes.
const NOT_BLANK: u64 = 20_000;

const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// `$CHROME`, or the first that the path has.
fn find() -> Option<PathBuf> {
    let named = std::env::var_os("CHROME").filter(|name| !name.is_empty()).map(PathBuf::from);
    named.into_iter().chain(NAMES.map(PathBuf::from)).find(|program| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}

fn required() -> bool {
    spmv_backend::env::lists("SPMV_REQUIRE", "browser")
}

fn run(browser: &Path, folder: &Path, what: &str) -> Output {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1400,2600",
    ];
    let address = format!("file://{}", folder.join("page.html").display());
    let output = Command::new(browser).args(quiet).args([&profile, what, &address]).output().unwrap();
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn a_browser_shows_every_row() {
    let Some(browser) = find() else {
        assert!(!required(), "SPMV_REQUIRE names 'browser', and neither $CHROME nor any of {NAMES:?} runs");
        eprintln!(
            "SKIPPED: no browser ($CHROME, {NAMES:?}); nobody looked at the page of `cargo xtask bench`"
        );
        return;
    };
    let folder = std::env::temp_dir().join(format!("spmv-bench-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let names = ["alpha", "beta", "gamma", "delta"];
    // Sorts by the first column, twice, before anyone reads it: the script has to work.
    let press =
        "<script>for (let i = 0; i < 2; i++) document.querySelector('.sortable button').click()</script>";
    let text = page(&sample(&names), &pictures(&names)).replace("</body>", &format!("{press}</body>"));
    std::fs::write(folder.join("page.html"), text).unwrap();

    let dom = String::from_utf8(run(&browser, &folder, "--dump-dom").stdout).unwrap();
    let table = &dom[dom.find("<table class=\"sortable\">").unwrap()..];
    assert_eq!(table.matches("<tr class=\"row").count(), 2 * names.len());
    assert!(table.contains("aria-sort=\"descending\""), "the script did not sort");
    let positions = ["gamma", "delta", "beta", "alpha"].map(|n| table.find(&format!(">{n}")).unwrap());
    assert!(positions.is_sorted(), "not in descending order: {positions:?}");

    let png = folder.join("page.png");
    run(&browser, &folder, &format!("--screenshot={}", png.display()));
    let bytes = std::fs::metadata(&png).unwrap().len();
    assert!(bytes > NOT_BLANK, "the picture has {bytes} bytes");
    std::fs::remove_dir_all(&folder).unwrap();
}
