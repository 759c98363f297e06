//! Kernel sources: the same header in every language, and the table of who has which.

use std::fmt::Write;

use spmv_core::Dtype;

use super::code::{has_word, strip};
use super::{Kernel, Workspace};

/// Where one backend's kernels are.
struct Language {
    backend: &'static str,
    folder: &'static str,
    extension: &'static str,
    /// Its kernels are built before users' machines are known, so that each names its tilings.
    built: bool,
}

const LANGUAGES: [Language; 4] = [
    Language { backend: "cpu", folder: "crates/spmv-cpu/src/kernels/", extension: ".rs", built: false },
    Language { backend: "cuda", folder: "kernels-cuda/", extension: ".cu", built: true },
    Language { backend: "opencl", folder: "kernels-opencl/", extension: ".cl", built: false },
    Language { backend: "wgpu", folder: "kernels-wgsl/", extension: ".wgsl", built: false },
];

/// Files in the folders of kernels that are none.
const NO_KERNELS: [&str; 2] = ["prelude", "mod"];

const TABLE: &str = "docs/kernels.md";
const BEGIN: &str = "<!-- begin: written by `cargo xtask tidy --bless` -->\n";
const END: &str = "<!-- end -->\n";

impl Language {
    /// Stem, path and text of each kernel source.
    fn sources<'w>(&self, w: &'w Workspace) -> impl Iterator<Item = (&'w str, &'w str, &'w str)> {
        let (folder, extension) = (self.folder, self.extension);
        w.tree.texts().filter_map(move |(path, text)| {
            let stem = path.strip_prefix(folder)?.strip_suffix(extension)?;
            let stem = stem.rsplit('/').next().unwrap_or(stem);
            (!NO_KERNELS.contains(&stem)).then_some((stem, path, text))
        })
    }

    /// The types of values that its kernels are built for: those that its prelude has code for. The CPU's kernels are
    /// generic.
    fn values(&self, w: &Workspace) -> String {
        let prelude = w.tree.text(&format!("{}prelude{}", self.folder, self.extension)).map(strip);
        let has = |dtype: &Dtype| {
            let define = format!("VALUE_{}", dtype.name().to_ascii_uppercase());
            // What complex values need is code for both types.
            let define = if dtype.is_complex() { "COMPLEX" } else { &define };
            self.extension == ".rs" || prelude.as_ref().is_some_and(|text| has_word(text, define))
        };
        Vec::from_iter(Dtype::ALL.into_iter().filter(has).map(Dtype::name)).join(" ")
    }

    fn has(&self, w: &Workspace, stem: &str) -> bool {
        self.sources(w).any(|(found, ..)| found == stem)
    }
}

/// The comment that a kernel source opens with.
#[derive(Debug, Default, PartialEq)]
struct Header {
    kernel: String,
    params: String,
    /// The tilings of a kernel that is built ahead; the build script of its crate reads what they are.
    built: String,
    /// One text for each step, without its number.
    steps: Vec<String>,
}

impl Header {
    /// Reads `// kernel: / params: / built: / steps:`; a line without a key continues the one before.
    fn parse(text: &str) -> Self {
        let mut fields = ["kernel:", "params:", "built:", "steps:"].map(|key| (key, String::new()));
        let mut current = None;
        for line in text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim) {
            let key = fields.iter().position(|(key, _)| line.starts_with(key));
            current = key.or(current);
            let Some(at) = current else { break };
            let (key, value) = &mut fields[at];
            value.push(' ');
            value.push_str(line.strip_prefix(*key).unwrap_or(line));
        }
        let [kernel, params, built, steps] = fields.map(|(_, value)| words(&value));
        let mut rest = steps.as_str();
        let mut texts = Vec::new();
        while let Some(after) = rest.strip_prefix(&format!("{} ", texts.len() + 1)) {
            // `; 3 ` ends step 2; any other semicolon is part of its text.
            let next = format!("; {} ", texts.len() + 2);
            let (step, left) =
                after.split_once(&next).map_or((after, ""), |(step, _)| (step, &after[step.len() + 2..]));
            texts.push(step.to_owned());
            rest = left;
        }
        Self { kernel, params, built, steps: texts }
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every source opens with the header of its stem, its parameters are those of the table, its steps
/// those of the other languages, and each step is labelled in the body. It names tilings where they are built ahead,
/// and nowhere else.
pub(crate) fn headers_agree(w: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    let mut first: Vec<(&str, &str, Header)> = Vec::new();
    let all = |language: &'static Language| language.sources(w).map(move |source| (language, source));
    for (language, (stem, path, text)) in LANGUAGES.iter().flat_map(all) {
        let Some(kernel) = w.kernels.iter().find(|kernel| kernel.stem == stem) else {
            problems.push(format!("{path}: '{stem}' is no kernel of spmv_backend::KernelId"));
            continue;
        };
        let header = Header::parse(text);
        let params = kernel.params.join(" ");
        if header.kernel != stem {
            problems.push(format!("{path}: opens with 'kernel: {}', not 'kernel: {stem}'", header.kernel));
        }
        if header.params != params {
            problems
                .push(format!("{path}: 'params: {}' in the header, '{params}' in the table", header.params));
        }
        match (language.built, header.built.is_empty()) {
            (true, true) => {
                problems.push(format!("{path}: the header lacks 'built: T=...', the tilings of its PTX"));
            }
            (false, false) => {
                let what = "'built:' in the header, but its tilings are built where they run";
                problems.push(format!("{path}: {what}; remove the line"));
            }
            _ => {}
        }
        if header.steps.is_empty() {
            problems.push(format!("{path}: the header lacks 'steps: 1 ...; 2 ...'"));
        }
        let body = text.lines().skip_while(|line| line.starts_with("//"));
        let labels: Vec<&str> =
            body.filter_map(|line| line.split_once("// ")).map(|(_, label)| label).collect();
        let labelled = |step: usize| labels.iter().any(|label| names_step(label, step));
        let missing = (1..=header.steps.len()).filter(|step| !labelled(*step));
        problems.extend(missing.map(|step| format!("{path}: no line is labelled '// STEP {step}'")));
        match first.iter().find(|(found, ..)| *found == stem) {
            Some((_, other, theirs)) if theirs.steps != header.steps => {
                problems.push(format!("{path}: its steps are not those of {other}"));
            }
            Some(_) => {}
            None => first.push((stem, path, header)),
        }
    }
    problems
}

/// Whether a label such as `STEP 2, STEP 3` names the step.
fn names_step(label: &str, step: usize) -> bool {
    label.split("STEP ").skip(1).any(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse() == Ok(step)
    })
}

/// What numbers operations, what slices are said to be, and what stands in slots without an entry.
const CODES: [&str; 3] = [
    "crates/spmv-backend/src/codes.rs",
    "crates/spmv-core/src/format/slice_header.rs",
    "crates/spmv-core/src/format/by_slot.rs",
];

/// The name and the number of a constant, as each language defines it.
fn constant(line: &str) -> Option<(&str, u32)> {
    let rest =
        ["#define ", "const ", "pub const "].iter().find_map(|key| line.trim_start().strip_prefix(key))?;
    let (name, rest) = rest.split_at(rest.find([' ', ':'])?);
    let number = rest.rsplit([' ', '=']).next()?.trim_end_matches(['u', ';']).replace('_', "");
    let number = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    Some((name, number.ok()?))
}

/// A code has one number, whichever source defines it.
pub(crate) fn codes_agree(w: &Workspace) -> Vec<String> {
    let is_public = |line: &&str| line.trim_start().starts_with("pub ");
    let of_file = |file| w.tree.text(file).unwrap_or_default().lines().filter(is_public).filter_map(constant);
    if let Some(file) = CODES.into_iter().find(|file| of_file(file).next().is_none()) {
        return vec![format!("{file}: has no codes")];
    }
    let codes: Vec<_> = CODES.into_iter().flat_map(of_file).collect();
    let differs =
        |(name, number): &(&str, u32)| codes.iter().any(|(code, known)| code == name && known != number);
    let problem = |path: &str, (name, number): (&str, u32)| {
        format!("{path}: {name} is {number}, and another number in {}", CODES.join(" or "))
    };
    let in_text = |(path, text): (&str, &str)| -> Vec<String> {
        text.lines().filter_map(constant).filter(differs).map(|code| problem(path, code)).collect()
    };
    let is_kernel = |path: &str| LANGUAGES.iter().any(|language| path.starts_with(language.folder));
    w.tree.texts().filter(|(path, _)| is_kernel(path)).flat_map(in_text).collect()
}

/// No language lacks a kernel.
pub(crate) fn every_language_has_every_kernel(w: &Workspace) -> Vec<String> {
    let missing = |language: &Language| {
        let path = |stem| format!("{}{stem}{}: is missing", language.folder, language.extension);
        let stems = w.kernels.iter().map(|kernel| kernel.stem).filter(|stem| !language.has(w, stem));
        stems.map(path).collect::<Vec<_>>()
    };
    LANGUAGES.iter().flat_map(missing).collect()
}

/// `docs/kernels.md` says what the sources say.
pub(crate) fn table_is_in_step(w: &Workspace) -> Vec<String> {
    let (path, text) = blessed(w);
    match w.tree.text(path) {
        Some(found) if found == text => vec![],
        _ => vec![format!("{path}: is not in step with the sources; run `cargo xtask tidy --bless`")],
    }
}

/// The generated file, and what it should contain: the text around the markers stays.
pub(crate) fn blessed(w: &Workspace) -> (&'static str, String) {
    let now = w.tree.text(TABLE).unwrap_or("# Kernels\n\n");
    let (before, rest) = now.split_once(BEGIN).unwrap_or((now, END));
    let after = rest.split_once(END).map_or("", |(_, after)| after);
    (TABLE, format!("{before}{BEGIN}{}{END}{after}", table(w)))
}

/// Kernel by backend, with value types; then each kernel's parameters and steps.
fn table(w: &Workspace) -> String {
    let mut out = String::from("| kernel |");
    let names = LANGUAGES.iter().map(|language| language.backend);
    names.clone().for_each(|name| out.extend([" ", name, " |"]));
    out.push_str("\n|---|");
    names.for_each(|_| out.push_str("---|"));
    let values = LANGUAGES.each_ref().map(|language| language.values(w));
    for Kernel { stem, .. } in &w.kernels {
        // Writing to a `String` does not fail.
        let _ = write!(out, "\n| `{stem}` |");
        for (language, values) in LANGUAGES.iter().zip(&values) {
            let _ = write!(out, " {} |", if language.has(w, stem) { values } else { "-" });
        }
    }
    out.push('\n');
    for Kernel { stem, params } in &w.kernels {
        let _ = write!(out, "\n`{stem}` takes `{}`.\n", params.join(" "));
        let mut sources = LANGUAGES.iter().flat_map(|language| language.sources(w));
        let Some((.., text)) = sources.find(|(found, ..)| found == stem) else { continue };
        out.push('\n');
        for (at, step) in Header::parse(text).steps.iter().enumerate() {
            // Markdown would take the products' asterisks for emphasis.
            let _ = writeln!(out, "{}. {}", at + 1, step.replace('*', "\\*"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use spmv_backend::KernelId;

    use super::super::Tree;
    use super::*;

    const GOOD: &str = "// kernel: axpby\n// params: n y\n// steps:  1 read; if not zero;\n//         2 store\n\n\
        f() // STEP 1\n// STEP 2 and more\n";
    const CPU: &str = "crates/spmv-cpu/src/kernels/axpby.rs";

    fn with(files: &[(&str, &str)]) -> Workspace {
        let kernels = vec![Kernel { stem: "axpby", params: vec!["n", "y"] }];
        Workspace { tree: Tree::of(files), kernels, ..Workspace::default() }
    }

    #[test]
    fn steps_may_contain_semicolons() {
        assert_eq!(Header::parse(GOOD).steps, ["read; if not zero", "store"]);
    }

    #[test]
    fn each_way_to_leave_the_header_is_found() {
        let problems = |from, to| headers_agree(&with(&[(CPU, &GOOD.replacen(from, to, 1))]));
        assert_eq!(problems("", ""), [""; 0]);
        assert!(problems("kernel: axpby", "kernel: ell")[0].contains("kernel: axpby"));
        assert!(problems("n y", "y n")[0].contains("in the table"));
        assert!(problems("steps:", "").iter().any(|p| p.contains("lacks 'steps")));
        assert!(problems("STEP 2", "")[0].contains("STEP 2"));
        assert!(problems("STEP 2", "STEP 22")[0].contains("STEP 2"));
        assert_eq!(problems("// kernel", "\n// kernel").len(), 3);
    }

    #[test]
    fn languages_are_compared_with_each_other() {
        let other = GOOD.replace("store", "keep");
        let w = |text| with(&[(CPU, GOOD), ("kernels-opencl/axpby.cl", text)]);
        assert!(headers_agree(&w(GOOD)).is_empty());
        assert_eq!(
            headers_agree(&w(&other)),
            ["kernels-opencl/axpby.cl: its steps are not those of \
            crates/spmv-cpu/src/kernels/axpby.rs"]
        );
    }

    #[test]
    fn a_source_without_a_row_is_found_and_a_prelude_needs_none() {
        assert_eq!(headers_agree(&with(&[("kernels-cuda/dia.cu", "")])).len(), 1);
        assert!(headers_agree(&with(&[("kernels-cuda/prelude.cu", "")])).is_empty());
    }

    #[test]
    fn tilings_stand_in_the_headers_of_cuda_and_nowhere_else() {
        let built = GOOD.replace("// steps", "// built:  T=32\n// steps");
        assert_eq!(Header::parse(&built), Header { built: "T=32".into(), ..Header::parse(GOOD) });
        let problems = |path, text: &str| headers_agree(&with(&[(path, text)]));
        assert_eq!(problems("kernels-cuda/axpby.cu", &built), [""; 0]);
        assert!(problems("kernels-cuda/axpby.cu", GOOD)[0].contains("lacks 'built: T=...'"));
        assert!(problems("kernels-opencl/axpby.cl", &built)[0].contains("remove the line"));
        assert!(problems(CPU, &built)[0].contains("remove the line"));
    }

    #[test]
    fn the_table_has_the_types_of_values_that_cuda_is_built_for() {
        let cuda = LANGUAGES.iter().find(|language| language.backend == "cuda").unwrap();
        let prelude = spmv_kernels_cuda::SOURCES.iter().find(|(stem, _)| *stem == "prelude").unwrap().1;
        let w = with(&[("kernels-cuda/prelude.cu", prelude)]);
        // The prelude has them in the order in which they are packed.
        let built = BTreeSet::from_iter(spmv_kernels_cuda::VALUES.iter().copied());
        assert_eq!(BTreeSet::from_iter(cuda.values(&w).split(' ')), built);
    }

    #[test]
    fn a_code_has_the_same_number_everywhere() {
        let (sum, none) =
            ("/// A sum.\npub const OP_ADD: u32 = 1;\n", "    pub const NONE: u32 = 0xffff_ffff;\n");
        // What is its own, other sources may have by the same name.
        let slot = "pub const PADDING: u32 = 7;\nconst AHEAD: u32 = 9;";
        let problem = codes_agree(&with(&[(CODES[0], sum), (CODES[1], none), (CODES[2], "mod none;")]));
        assert_eq!(problem, [format!("{}: has no codes", CODES[2])]);
        let home = [(CODES[0], sum), (CODES[1], none), (CODES[2], slot)];
        let with = |path, text| codes_agree(&with(&[&home[..], &[(path, text)]].concat()));
        let (cuda, wgsl) = ("kernels-cuda/axpby.cu", "kernels-wgsl/axpby.wgsl");
        assert!(with(cuda, "#define OP_ADD 1\n#define AHEAD 2\n#define NONE 0xffffffffu").is_empty());
        assert!(with(wgsl, "const OP_ADD = 1u;").is_empty());
        assert!(
            with(cuda, "#define OP_ADD 2")[0].starts_with("kernels-cuda/axpby.cu: OP_ADD is 2, and another")
        );
        for (path, text) in
            [(cuda, "#define NONE 0xffffu"), (wgsl, "const OP_ADD = 0u;"), (CPU, "const OP_ADD: u32 = 3;")]
        {
            assert_eq!(with(path, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn absence_is_a_failure() {
        assert_eq!(every_language_has_every_kernel(&with(&[])).len(), LANGUAGES.len());
        let problems =
            every_language_has_every_kernel(&with(&[(CPU, GOOD), ("kernels-wgsl/axpby.wgsl", GOOD)]));
        assert_eq!(problems, ["kernels-cuda/axpby.cu: is missing", "kernels-opencl/axpby.cl: is missing"]);
    }

    #[test]
    fn the_table_keeps_the_text_around_it_and_follows_the_sources() {
        let mut w = with(&[(CPU, GOOD), (TABLE, "# Mine\n\nbefore\n\n")]);
        assert_eq!(table_is_in_step(&w).len(), 1);
        let (_, text) = blessed(&w);
        assert!(
            text.starts_with("# Mine\n\nbefore\n\n")
                && text.contains("| `axpby` | f16 bf16 f32 f64 c32 c64 | - | - | - |")
        );
        let text = format!("{text}\nafter\n");
        w.tree = Tree::of(&[(CPU, GOOD), (TABLE, &text)]);
        assert!(table_is_in_step(&w).is_empty());
        assert_eq!(blessed(&w).1, text);
        w.tree = Tree::of(&[(TABLE, &text)]);
        assert_eq!(table_is_in_step(&w).len(), 1);
    }

    #[test]
    fn rows_are_those_of_the_backend_crate() {
        let all = Kernel::all();
        assert_eq!(all.len(), KernelId::ALL.len());
        assert_eq!(all.iter().find(|k| k.stem == "axpby").unwrap().params[0], "n_rows");
    }
}
