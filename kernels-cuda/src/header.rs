//! What the build script reads in the comment that a source opens with.

/// The tilings that a kernel is built for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Built {
    /// T of the tilings.
    pub(crate) lanes: Vec<u32>,
    /// W of the tilings; none if the code is the same for every W.
    pub(crate) widths: Vec<u32>,
}

/// How the line of a kernel is written.
const BUILT_FORM: &str = "write '// built:  T=2,4,8', or '// built:  T=32 W=1,4' if the code depends on W";

/// How the lines of the prelude are written.
const VALUES_FORM: &str = "write '// values: f32 f64', and '// mixed: f32_f64' for values and a wider x";

/// Reads `// built:` in the header of the kernel in `file`.
///
/// # Errors
/// The file, the line and the way out, if the header has no such line or more than one, or it is malformed.
pub(crate) fn built(file: &str, text: &str) -> Result<Built, String> {
    let (line, found) = only_line(file, text, "built:", BUILT_FORM)?;
    let wrong = |what: String| format!("{file}:{line}: {what}; {BUILT_FORM}");
    let (mut lanes, mut widths) = (Vec::new(), Vec::new());
    for word in found.split_whitespace() {
        let (list, numbers) = match word.split_once('=') {
            Some(("T", numbers)) if lanes.is_empty() => (&mut lanes, numbers),
            Some(("W", numbers)) if widths.is_empty() => (&mut widths, numbers),
            Some(("T" | "W", _)) => return Err(wrong(format!("'{word}' is a second list"))),
            _ => return Err(wrong(format!("'{word}' is neither T=... nor W=..."))),
        };
        for number in numbers.split(',') {
            let parsed = number.parse().ok().filter(|parsed| *parsed > 0);
            let parsed =
                parsed.ok_or_else(|| wrong(format!("'{number}' in '{word}' is no number above 0")))?;
            if list.last().is_some_and(|last| *last >= parsed) {
                return Err(wrong(format!("'{word}' does not increase")));
            }
            list.push(parsed);
        }
    }
    if lanes.is_empty() {
        return Err(wrong("no T=...".into()));
    }
    Ok(Built { lanes, widths })
}

/// Whether the kernel multiplies values by `x`: the line `params:` of the header, and those that it goes on in, have both.
pub(crate) fn multiplies(text: &str) -> bool {
    let header = text.lines().map_while(|line| line.strip_prefix("//"));
    let from_params = header.skip_while(|line| !line.trim().starts_with("params:")).enumerate();
    let params = from_params.take_while(|(at, line)| *at == 0 || !line.trim().contains(": "));
    let words: Vec<&str> = params.flat_map(|(_, line)| line.split_whitespace()).collect();
    words.contains(&"x") && words.iter().any(|word| word.ends_with("vals"))
}

/// Reads `// values:` or `// mixed:` in the header of the prelude.
///
/// # Errors
/// The file, the line and the way out, if the header has no such line or more than one, or it is malformed.
pub(crate) fn values<'a>(file: &str, text: &'a str, key: &str) -> Result<Vec<&'a str>, String> {
    let (line, found) = only_line(file, text, key, VALUES_FORM)?;
    let values: Vec<_> = found.split_whitespace().collect();
    let is_name =
        |value: &str| value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if values.is_empty() {
        return Err(format!("{file}:{line}: no type of values; {VALUES_FORM}"));
    }
    for (at, value) in values.iter().enumerate() {
        if !is_name(value) {
            return Err(format!("{file}:{line}: '{value}' is no name of a type; {VALUES_FORM}"));
        }
        if values[..at].contains(value) {
            return Err(format!("{file}:{line}: '{value}' stands there twice; {VALUES_FORM}"));
        }
    }
    Ok(values)
}

/// Number and rest of the one line with the key among the comment lines that a text begins with.
fn only_line<'a>(file: &str, text: &'a str, key: &str, form: &str) -> Result<(usize, &'a str), String> {
    let header = text.lines().map_while(|line| line.strip_prefix("//"));
    let mut found = (1..).zip(header).filter_map(|(line, rest)| Some((line, rest.trim().strip_prefix(key)?)));
    let first = found.next().ok_or_else(|| format!("{file}:1: the header has no line '{key}'; {form}"))?;
    match found.next() {
        Some((line, _)) => Err(format!("{file}:{line}: a second line '{key}'; keep one")),
        None => Ok(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a header whose third line is `line`.
    fn read(line: &str) -> Result<(Vec<u32>, Vec<u32>), String> {
        let text = format!("// kernel: axpby\n// params: n y\n{line}\n// steps:  1 store\n\n// built: T=9\n");
        built("axpby.cu", &text).map(|built| (built.lanes, built.widths))
    }

    #[test]
    fn lanes_and_widths_are_read_from_the_header() {
        assert_eq!(read("// built:  T=2,4,8").unwrap(), (vec![2, 4, 8], vec![]));
        assert_eq!(read("// built: W=1,16 T=32 ").unwrap(), (vec![32], vec![1, 16]));
        assert_eq!(read("//built:T=32").unwrap(), (vec![32], vec![]));
    }

    #[test]
    fn a_malformed_line_is_an_error_with_file_and_line_in_words() {
        for (line, problem) in [
            ("// built:", "axpby.cu:3: no T=...; write '// built:  T=2,4,8', or"),
            ("// built: W=1", "axpby.cu:3: no T=..."),
            ("// built: T=2,x", "axpby.cu:3: 'x' in 'T=2,x' is no number above 0"),
            ("// built: T=0", "axpby.cu:3: '0' in 'T=0' is no number above 0"),
            ("// built: T= 2", "axpby.cu:3: '' in 'T=' is no number above 0"),
            ("// built: T=4294967296", "axpby.cu:3: '4294967296' in"),
            ("// built: T=4,2", "axpby.cu:3: 'T=4,2' does not increase"),
            ("// built: T=2 W=1,1", "axpby.cu:3: 'W=1,1' does not increase"),
            ("// built: T=2 T=4", "axpby.cu:3: 'T=4' is a second list"),
            ("// built: T=2 B=4", "axpby.cu:3: 'B=4' is neither T=... nor W=..."),
            ("// built: T=2\n// built: T=4", "axpby.cu:4: a second line 'built:'; keep one"),
            ("// bilt: T=2", "axpby.cu:1: the header has no line 'built:'; write '// built:"),
            ("", "axpby.cu:1: the header has no line 'built:'"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }

    #[test]
    fn a_kernel_that_takes_values_and_x_multiplies_them() {
        let takes = |params: &str| {
            multiplies(&format!("// kernel: k\n// params: n\n//         {params}\n// built:  T=x vals\nx"))
        };
        assert!(takes("cols vals x y") && takes("slot_vals y x"));
        assert!(!takes("vals slots") && !takes("x y") && !takes(""));
    }

    #[test]
    fn types_of_values_are_read_from_the_header() {
        let read = |line: &str| {
            values("prelude.cu", &format!("// Shared.\n{line}\ncode\n"), "values:").map(|v| v.join("+"))
        };
        assert_eq!(read("// values: f16  f64").unwrap(), "f16+f64");
        for (line, problem) in [
            ("// values:", "prelude.cu:2: no type of values; write '// values: f32 f64', and"),
            ("// values: f32, f64", "prelude.cu:2: 'f32,' is no name of a type"),
            ("// values: f32 f32", "prelude.cu:2: 'f32' stands there twice"),
            ("values: f32", "prelude.cu:1: the header has no line 'values:'"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
