//! `src/generated` says what the source of `cust_raw` says. With `SPMV_BLESS=1` the files are written instead of
//! compared.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use libtest_mimic::{Arguments, Failed, Trial};

/// Defined by hand: they answer without a driver, too.
const BY_HAND: [&str; 2] = ["cuGetErrorString", "cuGetErrorName"];

/// Longest line of a Rust file, as in rustfmt.toml.
const MAX_WIDTH: usize = 110;

fn main() {
    let mut arguments = Arguments::from_args();
    // In this order: files are compared, or written, before they are read.
    arguments.test_threads = Some(1);
    let trial = |name: &str, test: fn(&Bindings) -> Result<(), Failed>| match Bindings::find() {
        Ok(bindings) => Trial::test(name, move || test(&bindings)),
        Err(e) => {
            let reason = format!("{name} [no source of cust_raw: {e}]").replace('\n', " ");
            eprintln!("SKIPPED {reason}");
            Trial::test(reason, || Ok(())).with_ignored_flag(true)
        }
    };
    let trials = vec![
        trial("the_generated_files_are_in_step", the_generated_files_are_in_step),
        trial("every_declared_function_is_forwarded", every_declared_function_is_forwarded),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn every_declared_function_is_forwarded(bindings: &Bindings) -> Result<(), Failed> {
    let names = bindings.text.split("pub fn ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.0));
    let declared: BTreeSet<&str> = names.filter(|name| name.starts_with("cu")).collect();
    let texts = Topic::ALL.map(|topic| fs::read_to_string(path(topic.file())));
    let texts = texts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let lines = texts.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.split_once('('));
    let forwarded: BTreeSet<&str> = lines.map(|(name, _)| name).chain(BY_HAND).collect();
    let differing: Vec<&&str> = declared.symmetric_difference(&forwarded).collect();
    assert!(declared.len() >= 300 && differing.is_empty(), "{} declared, {differing:?}", declared.len());
    Ok(())
}

fn the_generated_files_are_in_step(bindings: &Bindings) -> Result<(), Failed> {
    let bless = std::env::var_os("SPMV_BLESS").is_some();
    for (file, text) in bindings.files()? {
        let path = path(file);
        let now = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if now == text {
            continue;
        }
        if !bless {
            let command = "SPMV_BLESS=1 cargo test -p spmv-cuda-driver --test generated";
            return Err(format!("src/generated/{file} is not what cust_raw says; run `{command}`").into());
        }
        fs::write(path, text)?;
    }
    Ok(())
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated").join(file)
}

/// What a function works on, by the beginning of its name: one file each.
#[derive(Clone, Copy, PartialEq)]
enum Topic {
    Calls,
    Graphs,
    Memory,
}

impl Topic {
    const ALL: [Topic; 3] = [Topic::Calls, Topic::Graphs, Topic::Memory];

    fn of(function: &str) -> Self {
        const MEMORY: [&str; 7] =
            ["cuMem", "cuArray", "cuMipmapped", "cuTex", "cuSurf", "cuPointer", "cuIpc"];
        if MEMORY.iter().any(|prefix| function.starts_with(prefix)) {
            Topic::Memory
        } else if function.starts_with("cuGraph") && !function.starts_with("cuGraphics") {
            Topic::Graphs
        } else {
            Topic::Calls
        }
    }

    fn file(self) -> &'static str {
        match self {
            Topic::Calls => "calls.rs",
            Topic::Graphs => "graphs.rs",
            Topic::Memory => "memory.rs",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Topic::Calls => "Devices, contexts, modules, launches, streams and events.",
            Topic::Graphs => "Graphs.",
            Topic::Memory => "Memory, arrays, textures and surfaces.",
        }
    }
}

/// The text of the `cust_raw` that this workspace is locked to.
struct Bindings {
    version: String,
    text: String,
}

/// A declaration: a name, and parameters as `name: type`.
struct Declaration<'t> {
    name: &'t str,
    params: Vec<String>,
}

impl Bindings {
    fn find() -> Result<Self, Box<dyn Error>> {
        let mut command = MetadataCommand::new();
        let metadata = command.manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).exec()?;
        let package = metadata.packages.iter().find(|package| *package.name == "cust_raw");
        let package = package.ok_or("cargo metadata does not list it")?;
        let folder = package.manifest_path.as_std_path().parent().ok_or("a package has a folder")?;
        let text = fs::read_to_string(folder.join("src/cuda.rs"))?;
        Ok(Self { version: package.version.to_string(), text })
    }

    /// The generated files, by name.
    fn files(&self) -> Result<Vec<(&'static str, String)>, String> {
        let declarations = self.declarations()?;
        let mut files = vec![("codes.rs", self.codes()?)];
        for topic in Topic::ALL {
            let functions =
                declarations.iter().filter(|d| Topic::of(d.name) == topic && !BY_HAND.contains(&d.name));
            files.push((topic.file(), self.functions(topic, functions)));
        }
        Ok(files)
    }

    fn header(&self, title: &str) -> String {
        format!("//! {title}\n//!\n//! Written by `tests/generated.rs` from cust_raw {}.\n\n", self.version)
    }

    fn declarations(&self) -> Result<Vec<Declaration<'_>>, String> {
        let blocks = self.text.split("\nextern \"C\" {\n").skip(1);
        let blocks = blocks.map(|rest| rest.split_once("\n}").map_or(rest, |(block, _)| block));
        blocks.map(Declaration::parse).collect()
    }

    fn functions<'d>(&self, topic: Topic, functions: impl Iterator<Item = &'d Declaration<'d>>) -> String {
        let lines: String = functions.map(Declaration::line).collect();
        // The integers of C by their own names; every other type is one of the bindings.
        let is_used =
            |name: &&str| lines.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == *name);
        let integers = ["c_char", "c_int", "c_uchar", "c_uint", "c_ulonglong", "c_ushort", "c_void"];
        let integers: Vec<&str> = integers.into_iter().filter(is_used).collect();
        format!(
            "{}use std::ffi::{{{}}};\n\nuse cust_raw::*;\n\nuse crate::forward::forward;\n\nforward! {{\n{lines}}}\n",
            self.header(topic.title()),
            integers.join(", "),
        )
    }

    fn codes(&self) -> Result<String, String> {
        let (_, rest) = self.text.split_once("pub enum cudaError_enum {").ok_or("no enum of codes")?;
        let (body, _) = rest.split_once('}').ok_or("no end of the enum of codes")?;
        let mut arms = String::new();
        for line in body.lines().map(str::trim).filter(|line| line.starts_with("CUDA_")) {
            let code = line.trim_end_matches(',').split_once(" = ");
            let (name, code) = code.ok_or_else(|| format!("no code in '{line}'"))?;
            arms += &format!("        {code} => (R::{name}, c\"{name}\"),\n");
        }
        Ok(format!(
            "{}use std::ffi::CStr;\n\nuse cust_raw::CUresult as R;\n\n\
             /// The value of the enum for a code, and its name.\n\
             pub(crate) fn code(code: i32) -> Option<(R, &'static CStr)> {{\n    \
             Some(match code {{\n{arms}        _ => return None,\n    }})\n}}\n",
            self.header("Codes that the driver answers with.")
        ))
    }
}

impl<'t> Declaration<'t> {
    fn parse(block: &'t str) -> Result<Self, String> {
        let faulty = |what| format!("{what} in the declaration '{block}'");
        let (_, rest) = block.split_once("pub fn ").ok_or_else(|| faulty("no function"))?;
        let (name, rest) = rest.split_once('(').ok_or_else(|| faulty("no parameters"))?;
        let (params, result) = rest.rsplit_once(')').ok_or_else(|| faulty("no end of the parameters"))?;
        if result.trim() != "-> CUresult;" || params.contains('(') {
            return Err(faulty("an unforeseen type"));
        }
        let params = params.split(',').map(|param| param.trim().replace("::std::os::raw::", ""));
        Ok(Self { name, params: params.filter(|param| !param.is_empty()).collect() })
    }

    /// On one line where it fits, else as many parameters on each as fit.
    fn line(&self) -> String {
        let whole = format!("    fn {}({});\n", self.name, self.params.join(", "));
        if whole.trim_end().len() <= MAX_WIDTH {
            return whole;
        }
        let mut lines = vec![String::new()];
        for param in &self.params {
            let last = lines.last().map_or(0, String::len);
            if last > 0 && "        ".len() + last + " ,".len() + param.len() > MAX_WIDTH {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                let space = if line.is_empty() { "" } else { " " };
                *line += &format!("{space}{param},");
            }
        }
        let lines: String = lines.iter().map(|line| format!("        {line}\n")).collect();
        format!("    fn {}(\n{lines}    );\n", self.name)
    }
}
