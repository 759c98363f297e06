//! Value types on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use spmv::Dtype;

/// Reads a value type by its name; `--help` lists them all.
pub fn parser() -> impl TypedValueParser<Value = Dtype> {
    PossibleValuesParser::new(Dtype::ALL.map(Dtype::name)).try_map(|name| name.parse::<Dtype>())
}

/// Reads the name of a type that sums are kept in.
pub(crate) fn of_sums(text: &str) -> Result<Dtype, String> {
    match text.parse() {
        Ok(dtype @ (Dtype::F32 | Dtype::F64)) => Ok(dtype),
        _ => Err(format!("'{text}' is neither f32 nor f64")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[arg(long, value_delimiter = ',', value_parser = parser())]
        precision: Vec<Dtype>,
    }

    #[test]
    fn types_are_read_by_name() {
        let read = |text| Cli::try_parse_from(["a", "--precision", text]).map(|cli| cli.precision);
        assert_eq!(read("f64,f16").unwrap(), [Dtype::F64, Dtype::F16]);
        let e = read("f8").unwrap_err().to_string();
        assert!(Dtype::ALL.iter().all(|dtype| e.contains(dtype.name())), "{e}");
    }
}
