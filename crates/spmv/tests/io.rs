//! Files, as a user reads and writes them.

use spmv::{Context, Csr, Error, io};

#[test]
fn a_matrix_is_written_read_and_multiplied() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let a = Csr::from_coo(3, 4, &[(0, 0, 1.0f32), (2, 3, 0.1)])?;
    for name in ["a.mtx", "a.mtx.gz"] {
        let path = dir.path().join(name);
        io::write(&path, &a)?;
        assert_eq!(io::read(&path)?, a);
        assert_eq!(io::read_with::<f32, u64>(&path, &io::Reader::new())?, a.with_offsets()?);
        assert_eq!(io::read_from(std::fs::File::open(&path)?)?, a);
    }
    Ok(())
}

#[test]
fn an_error_names_the_file_and_the_line() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("broken.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")?;
    let solve = || -> Result<(), Error> {
        Context::auto()?.prepare(&io::read::<f32>(&path)?)?;
        Ok(())
    };
    let expected = format!("{}: line 3: row 3 is out of range; the header says 2 rows", path.display());
    assert_eq!(solve().unwrap_err().to_string(), expected);
    let e = io::write(dir.path(), &Csr::from_coo(1, 1, &[(0, 0, 1.0f32)])?).unwrap_err();
    assert_eq!((e.path(), e.cause().line()), (Some(dir.path()), None));
    Ok(())
}
