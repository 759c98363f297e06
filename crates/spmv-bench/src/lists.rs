//! Lists on the command line: `--backend cpu,cuda`, and `--backend cpu cuda` too.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

/// The words of a command line with those of each list joined by commas. A word belongs to the list before it as long as the option reads it,
/// so that a file may follow.
///
/// ```
/// use clap::{Arg, Command};
/// let sizes = Arg::new("sizes").long("sizes").value_delimiter(',').value_parser(clap::value_parser!(u32));
/// let command = Command::new("a").arg(sizes).arg(Arg::new("file"));
/// let words = ["a", "--sizes", "4", "8,", "16", "b.mtx"].map(Into::into);
/// assert_eq!(spmv_bench::join_lists(&command, words), ["a", "--sizes", "4,8,16", "b.mtx"]);
/// ```
pub fn join_lists(command: &Command, words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (mut command, mut all) = (command, Vec::new());
    let mut words = words.into_iter().peekable();
    // The name of the program.
    all.extend(words.next());
    while let Some(word) = words.next() {
        if word == "--" {
            all.push(word);
            break;
        }
        command = command.find_subcommand(&word).unwrap_or(command);
        let list =
            command.get_arguments().find(|arg| arg.get_value_delimiter() == Some(',') && names(arg, &word));
        let has_value = word.to_str().is_some_and(|word| word.contains('='));
        all.push(word);
        let Some(list) = list else { continue };
        if !has_value {
            let Some(first) = words.next_if(|word| !is_option(word)) else { continue };
            all.push(first);
        }
        while let Some(next) = words.next_if(|word| !is_option(word) && reads(list, word)) {
            let last = all.last_mut().expect("the option at least");
            if !last.as_encoded_bytes().ends_with(b",") {
                last.push(",");
            }
            last.push(next);
        }
        // Nothing follows the last comma.
        let last = all.last_mut().expect("the option at least");
        if let Some(list) = last.to_str().and_then(|list| list.strip_suffix(',')) {
            *last = list.into();
        }
    }
    all.extend(words);
    all
}

/// Whether a word is `--long`, `--long=value` or `-s`.
fn names(arg: &Arg, word: &OsStr) -> bool {
    let word = word.to_str().unwrap_or_default();
    let long = word.strip_prefix("--").map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    let is_short = |short| word.strip_prefix('-').is_some_and(|word| word.chars().eq([short]));
    long.is_some() && arg.get_long() == long || arg.get_short().is_some_and(is_short)
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// Whether all that a word lists is read by an option; a comma may end it.
fn reads(arg: &Arg, word: &OsStr) -> bool {
    let word = word.to_str().unwrap_or_default();
    let items = word.strip_suffix(',').unwrap_or(word);
    let list = Arg::new("list").value_delimiter(',').value_parser(arg.get_value_parser().clone());
    let command = Command::new("list").no_binary_name(true).disable_help_flag(true).arg(list);
    !items.is_empty() && command.try_get_matches_from([items]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(line: &str) -> String {
        let list = |name: &'static str| Arg::new(name).long(name).value_delimiter(',');
        let parts = list("parts").short('n').value_parser(clap::value_parser!(u32));
        let time = Command::new("time").arg(list("backend").value_parser(["cpu", "cuda"])).arg(parts);
        let command = Command::new("a").subcommand(time.arg(Arg::new("file").num_args(0..)));
        let words = join_lists(&command, line.split_whitespace().map(OsString::from));
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn words_that_an_option_reads_are_one_list() {
        assert_eq!(joined("a time --backend cpu cuda b.mtx"), "a time --backend cpu,cuda b.mtx");
        assert_eq!(
            joined("a time --backend=cpu, cuda -n 2 4,8 16 b.mtx"),
            "a time --backend=cpu,cuda -n 2,4,8,16 b.mtx"
        );
        assert_eq!(joined("a time b.mtx --backend cpu --parts 2"), "a time b.mtx --backend cpu --parts 2");
        assert_eq!(joined("a time --backend cpu, b.mtx"), "a time --backend cpu b.mtx");
    }

    #[test]
    fn what_an_option_does_not_read_stays() {
        for line in [
            "a time --backend gpu cuda2",
            "a time -- --backend cpu cuda",
            "a cpu cuda",
            "a time cpu cuda",
            "a time --backend",
            "a",
        ] {
            assert_eq!(joined(line), line);
        }
    }
}
