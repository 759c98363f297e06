//! What the papers state: data files in `crates/spmv-bench/papers`, each number with its section.

use serde::Deserialize;

/// A number that a paper states.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Number {
    /// The table, figure, algorithm or equation that it belongs to.
    pub(crate) item: String,
    /// Page, section or table.
    pub(crate) section: String,
    pub(crate) what: String,
    #[serde(default)]
    pub(crate) matrix: Option<String>,
    #[serde(default)]
    pub(crate) device: Option<String>,
    #[serde(default)]
    pub(crate) precision: Option<String>,
    pub(crate) value: f64,
    #[serde(default)]
    pub(crate) unit: String,
}

/// Numbers in rows and columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    item: String,
    section: String,
    rows_are: RowsAre,
    #[serde(default)]
    precision: Option<String>,
    #[serde(default)]
    unit: String,
    columns: Vec<String>,
    rows: std::collections::BTreeMap<String, Vec<f64>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RowsAre {
    Matrix,
    Device,
}

/// A data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    authors: String,
    year: u16,
    #[serde(default)]
    number: Vec<Number>,
    #[serde(default)]
    table: Vec<Table>,
}

/// What one paper states.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// Authors, year and title.
    pub(crate) citation: String,
    all: Vec<Number>,
}

impl Numbers {
    /// Of the text of a data file.
    ///
    /// # Panics
    /// If the file, which is part of the program, is not as it must be; a test reads all.
    pub(crate) fn of(text: &str) -> Self {
        let File { title, authors, year, number, table } =
            toml::from_str(text).expect("a data file of the program");
        let mut all = number;
        for table in &table {
            all.extend(table.numbers());
        }
        Self { citation: format!("{authors} {year}: {title}"), all }
    }

    pub(crate) fn all(&self) -> &[Number] {
        &self.all
    }

    /// Those of an item.
    pub(crate) fn of_item<'a>(&'a self, item: &'a str) -> impl Iterator<Item = &'a Number> {
        self.all.iter().filter(move |number| number.item == item)
    }

    /// The number of an item of which that much is known.
    pub(crate) fn find(&self, item: &str, what: &str, matches: impl Fn(&Number) -> bool) -> Option<f64> {
        self.of_item(item).find(|n| n.what == what && matches(n)).map(|n| n.value)
    }

    /// What is stated of an item, each number with its device; of one type of values, if it is given.
    pub(crate) fn stated(&self, item: &str, what: &str, precision: Option<&str>) -> Vec<(String, f64)> {
        let is_it =
            |n: &&Number| n.what == what && (precision.is_none() || n.precision.as_deref() == precision);
        let of_it = self.of_item(item).filter(is_it);
        of_it.map(|n| (n.device.clone().unwrap_or_default(), n.value)).collect()
    }

    /// The number of a matrix.
    pub(crate) fn of_matrix(&self, item: &str, what: &str, matrix: &str) -> Option<f64> {
        self.find(item, what, |n| n.matrix.as_deref() == Some(matrix))
    }
}

impl Table {
    fn numbers(&self) -> impl Iterator<Item = Number> + '_ {
        self.rows.iter().flat_map(move |(row, values)| {
            assert_eq!(values.len(), self.columns.len(), "{}: {row}", self.item);
            self.columns.iter().zip(values).map(move |(what, value)| {
                let (matrix, device) = match self.rows_are {
                    RowsAre::Matrix => (Some(row.clone()), None),
                    RowsAre::Device => (None, Some(row.clone())),
                };
                Number {
                    item: self.item.clone(),
                    section: self.section.clone(),
                    what: what.clone(),
                    matrix,
                    device,
                    precision: self.precision.clone(),
                    value: *value,
                    unit: self.unit.clone(),
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_become_numbers_with_their_section() {
        let numbers = Numbers::of(
            "title = 'T'\nauthors = 'A & B'\nyear = 2015\n\
             [[table]]\nitem = 'table-3'\nsection = 'page 8'\nrows_are = 'matrix'\ncolumns = ['rows', 'nnz']\nunit = ''\n\
             [table.rows]\ncant = [62e3, 4.0e6]\n\
             [[number]]\nitem = 'figure-4'\nsection = 'page 10'\nwhat = 'mean'\ndevice = 'AMD'\nvalue = 5.61\nunit = 'x'\n",
        );
        assert_eq!(numbers.citation, "A & B 2015: T");
        assert_eq!(numbers.of_matrix("table-3", "nnz", "cant"), Some(4.0e6));
        assert_eq!(numbers.of_matrix("table-3", "nnz", "cant2"), None);
        assert_eq!(numbers.find("figure-4", "mean", |n| n.device.as_deref() == Some("AMD")), Some(5.61));
        assert!(numbers.of_item("table-3").all(|n| n.section == "page 8"));
    }
}
