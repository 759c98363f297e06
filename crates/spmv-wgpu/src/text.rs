//! The final text of a kernel: what the parameter table declares, the prelude and the kernel, for one spec.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use spmv_backend::{Elem, Error, KernelSpec, ParamKind, Result};

/// Scalars that every kernel gets after its own: how many groups there are, and how many of them make a line.
pub(crate) const GRID: [&str; 2] = ["n_groups", "groups_x"];

/// What texts depend on besides the spec.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Of<'a> {
    /// A folder with files that replace those of this crate.
    pub(crate) replaced_in: Option<&'a Path>,
    /// Whether groups of a launch can join what they did.
    pub(crate) joins: bool,
}

/// The kernel's source, or that of the file that replaces it.
fn source(stem: &str, replaced_in: Option<&Path>) -> Result<String> {
    if let Some(folder) = replaced_in {
        let path = folder.join(format!("{stem}.wgsl"));
        if path.exists() {
            return fs::read_to_string(&path).map_err(|e| Error::Unavailable {
                backend: "wgpu".into(),
                reason: format!("{}: {e}", path.display()),
            });
        }
    }
    let sources = spmv_kernels_wgsl::SOURCES;
    let found = sources.iter().find(|(name, _)| *name == stem);
    let (_, text) = found.unwrap_or_else(|| panic!("{stem} is a kernel of this crate"));
    Ok((*text).to_owned())
}

/// The text for a spec. Everything that depends on it is written out, so that the driver's compiler sees constants.
pub(crate) fn text(spec: &KernelSpec, of: Of<'_>) -> Result<String> {
    with_body(spec, &source(spec.id.stem(), of.replaced_in)?, of)
}

/// The same with another body.
pub(crate) fn with_body(spec: &KernelSpec, body: &str, of: Of<'_>) -> Result<String> {
    let prelude = expanded(&source("prelude", of.replaced_in)?, spec, of.joins)?;
    let body = expanded(body, spec, of.joins)?;
    let mut text = declarations(spec, of.joins);
    text.push_str(&prelude);
    text.push('\n');
    text.push_str(&body);
    Ok(text)
}

/// Scalars as `p`, then each buffer with its index among them, and how to load values.
fn declarations(spec: &KernelSpec, joins: bool) -> String {
    let params = spec.id.params();
    let mut text = String::from("struct Params {\n");
    // Writing to a `String` does not fail.
    for param in params {
        let _ = match param.kind {
            ParamKind::U32 => writeln!(text, "    {}: u32,", param.name),
            ParamKind::Accum => writeln!(text, "    {}: accum,", param.name),
            _ => Ok(()),
        };
    }
    for name in GRID {
        let _ = writeln!(text, "    {name}: u32,");
    }
    text.push_str("}\nvar<immediate> p: Params;\n");
    let buffers = params.iter().filter_map(|param| match param.kind {
        ParamKind::Read(elem) => Some((param.name, elem, "read")),
        ParamKind::Write(elem) => Some((param.name, elem, "read_write")),
        _ => None,
    });
    for (at, (name, elem, access)) in buffers.enumerate() {
        let of = match elem {
            Elem::U32 => "u32",
            Elem::Counter => "atomic<u32>",
            // A vector of another type has that of sums.
            Elem::Vector if spec.types.is_mixed() => "accum",
            Elem::Value | Elem::Vector => "value_word",
            Elem::Accum => "accum",
        };
        // What groups see of each other.
        let shared = if joins && name == "carries" && spec.id.takes("arrivals") { "@coherent " } else { "" };
        let _ =
            writeln!(text, "@group(0) @binding({at}) {shared}var<storage, {access}> {name}: array<{of}>;");
        if matches!(elem, Elem::Value | Elem::Vector) {
            let of =
                if of == "accum" { format!("{name}[i]") } else { format!("widen({name}[i / PACKED], i)") };
            let _ = writeln!(text, "fn load_{name}(i: u32) -> accum {{ return {of}; }}");
        }
    }
    text.push('\n');
    text
}

/// A directive whose `#end` is still to come.
enum Open {
    /// Whether lines are kept.
    If(bool),
    /// What is to be repeated: the variable, how often, the lines.
    Each(String, u32, String),
}

/// A source with its directives carried out: `#if NAME`, `#else`, `#each i N`, `#end`, and `$NAME`. With `joins`, `JOINS` is a name.
fn expanded(source: &str, spec: &KernelSpec, joins: bool) -> Result<String> {
    let defines = spec.defines();
    let value_of = |name: &str| defines.iter().find(|(define, _)| *define == name).map(|(_, value)| *value);
    let takes = |name: &str| spec.id.takes(name) || joins && name == "JOINS";
    let number = |word: &str| word.parse().ok().or_else(|| value_of(word));
    // A quotient is at least one.
    let count = |word: &str| match word.split_once('/') {
        Some((of, by)) => Some(number(of)?.checked_div(number(by)?)?.max(1)),
        None => number(word),
    };
    let wrong = |line: &str, what: &str| Error::Compile {
        device: "wgpu".into(),
        kernel: spec.to_string(),
        log: format!("{what}: {line}"),
    };
    let mut out = String::new();
    let mut open = Vec::new();
    for line in source.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#if", name] => open.push(Open::If(value_of(name).is_some() || takes(name))),
            ["#else"] => match open.last_mut() {
                Some(Open::If(keep)) => *keep = !*keep,
                _ => return Err(wrong(line, "nothing to end")),
            },
            ["#each", name, times] => {
                let times = count(times).ok_or_else(|| wrong(line, "not a number"))?;
                open.push(Open::Each(format!("${name}"), times, String::new()));
            }
            ["#end"] => match open.pop() {
                Some(Open::Each(name, times, lines)) => {
                    let to = innermost(&mut open, &mut out);
                    for i in 0..times {
                        to.push_str(&lines.replace(&name, &i.to_string()));
                    }
                }
                Some(Open::If(_)) => {}
                None => return Err(wrong(line, "nothing to end")),
            },
            _ if open.iter().any(|open| matches!(open, Open::If(false))) => {}
            _ => {
                let to = innermost(&mut open, &mut out);
                to.push_str(line);
                to.push('\n');
            }
        }
    }
    if !open.is_empty() {
        return Err(wrong("end of file", "#end is missing"));
    }
    let mut out = out.replace("$STEM", spec.id.stem());
    for (name, value) in defines {
        out = out.replace(&format!("${name}"), &value.to_string());
    }
    Ok(out)
}

/// Where lines go: to those of the last `#each` that is open, or out.
fn innermost<'a>(open: &'a mut [Open], out: &'a mut String) -> &'a mut String {
    open.iter_mut()
        .rev()
        .find_map(|open| if let Open::Each(_, _, lines) = open { Some(lines) } else { None })
        .unwrap_or(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use naga::valid::{Capabilities, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
    use spmv_backend::{KernelId, Lanes, Types};
    use spmv_core::{Dtype, Tiling};

    fn spec(id: KernelId, value: Dtype, lanes: Lanes, [t, w, b]: [u32; 3]) -> KernelSpec {
        KernelSpec::new(id, value, lanes, Tiling::new(t, w, 1, b).expect("a small tiling"))
    }

    #[test]
    fn every_final_text_is_valid() {
        let capabilities = Capabilities::FLOAT64
            | Capabilities::IMMEDIATES
            | Capabilities::SUBGROUP
            | Capabilities::SHADER_FLOAT16_IN_FLOAT32
            | Capabilities::MEMORY_DECORATION_COHERENT;
        let mut validator = Validator::new(ValidationFlags::all(), capabilities);
        validator.subgroup_stages(ShaderStages::COMPUTE).subgroup_operations(SubgroupOperationSet::all());
        for id in KernelId::ALL.iter().copied() {
            let mixed = Types::mixed().into_iter().filter(|_| id.multiplies());
            for types in Dtype::ALL.map(Types::of).into_iter().chain(mixed) {
                for lanes in [Lanes::Subgroup, Lanes::Workgroup] {
                    // Tilings change the text alike for every type.
                    let tilings = [[8, 2, 1], [4, 3, 2], [32, 16, 1], [1, 1, 1]];
                    for tiling in &tilings[..if types == Types::of(Dtype::F32) { tilings.len() } else { 1 }] {
                        let spec = spec(id, types.vector, lanes, *tiling).with_types(types);
                        for joins in &[true, false][..if id.takes("arrivals") { 2 } else { 1 }] {
                            let text = text(&spec, Of { joins: *joins, replaced_in: None }).unwrap();
                            let module = naga::front::wgsl::parse_str(&text);
                            let module =
                                module.unwrap_or_else(|e| panic!("{spec}: {}", e.emit_to_string(&text)));
                            let valid = validator.validate(&module);
                            valid.unwrap_or_else(|e| panic!("{spec}: {}", e.emit_to_string(&text)));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn final_texts_are_as_they_were() {
        for id in KernelId::ALL.iter().copied() {
            let of = Of { joins: true, replaced_in: None };
            let text = text(&spec(id, Dtype::F32, Lanes::Subgroup, [8, 2, 1]), of).unwrap();
            insta::assert_snapshot!(id.stem(), text);
        }
        let other = spec(KernelId::CarryApply, Dtype::F16, Lanes::Workgroup, [6, 1, 2]);
        insta::assert_snapshot!("carry_apply-workgroup-f16", text(&other, Of::default()).unwrap());
        let types = Types::stored_as(Dtype::F32, Dtype::F64).expect("a pair of types");
        let mixed = spec(KernelId::CsrScalar, types.vector, Lanes::Subgroup, [8, 1, 1]).with_types(types);
        insta::assert_snapshot!("csr_scalar-f32-f64", text(&mixed, Of::default()).unwrap());
    }

    #[test]
    fn directives_nest_and_repeat() {
        let spec = spec(KernelId::Axpby, Dtype::F64, Lanes::Workgroup, [4, 3, 1]);
        let source = "#if VALUE_F64\n#if LANES_SUBGROUP\na\n#else\nb $LANES\n#end\n#end\n#if VALUE_F32\nc\n#end\n\
                      #each i WIDTH\n$i of $WIDTH\n#end\n$STEM\n";
        assert_eq!(expanded(source, &spec, false).unwrap(), "b 4\n0 of 3\n1 of 3\n2 of 3\naxpby\n");
        let nested = "#each i 8/WIDTH\n$i\n#if VALUE_F32\nno\n#end\n#each j 1/WIDTH\n$i $j\n#end\n#end\n";
        assert_eq!(expanded(nested, &spec, false).unwrap(), "0\n0 0\n1\n1 0\n");
        let wrong = [
            "#end",
            "#else",
            "#if X",
            "#each i X\n#end",
            "#each i 3\n",
            "#each i 3/0\n#end",
            "#each i 3\n#else\n#end",
        ];
        for wrong in wrong {
            assert!(expanded(wrong, &spec, false).is_err(), "{wrong}");
        }
    }
}
