use super::*;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;

fn columns() -> Vec<Column> {
    vec![
        Column::text("order, id"),
        Column::integer("version"),
        Column::new("ttl", Kind::Boolean),
    ]
}

fn rows() -> Vec<Vec<Cell>> {
    vec![
        vec!["o-1, \"quoted\"\nnext".into(), 1.into(), true.into()],
        vec![Cell::Null, Cell::Null, Cell::Null],
        vec!["".into(), i64::MIN.into(), false.into()],
    ]
}

/// Writes the rows to a file of that form; its text is looked at by the caller.
fn written(format: Format) -> (Written, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let mut writer = Writer::create(format, columns(), Some(&path)).unwrap();
    for row in rows() {
        writer.write(row).unwrap();
        assert!(!path.exists(), "it appears when it is whole");
    }
    let written = writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(written.rows, 3);
    assert_eq!(usize::try_from(written.bytes).unwrap(), bytes.len());
    assert_eq!(written.sha256, hex::encode(Sha256::digest(&bytes)));
    (written, bytes)
}

#[test]
fn csv_quotes_what_would_break_a_row() {
    let (_, bytes) = written(Format::Csv);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "\"order, id\",version,ttl\n\"o-1, \"\"quoted\"\"\nnext\",1,true\n,,\n,-9223372036854775808,false\n"
    );
}

#[test]
fn a_json_line_has_every_column_and_tells_null_from_the_empty_text() {
    let (_, bytes) = written(Format::Ndjson);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "{\"order, id\":\"o-1, \\\"quoted\\\"\\nnext\",\"version\":1,\"ttl\":true}\n\
         {\"order, id\":null,\"version\":null,\"ttl\":null}\n\
         {\"order, id\":\"\",\"version\":-9223372036854775808,\"ttl\":false}\n"
    );
}

#[test]
fn parquet_comes_back_as_it_went_in() {
    let (_, bytes) = written(Format::Parquet);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let back: Vec<Vec<Cell>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let row = row.unwrap();
            vec![
                row.get_string(0).ok().map(String::as_str).into(),
                row.get_long(1).ok().into(),
                row.get_bool(2).ok().into(),
            ]
        })
        .collect();
    assert_eq!(back, rows());
}

#[test]
fn many_rows_are_written_in_groups_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.parquet");
    let mut writer =
        Writer::create(Format::Parquet, vec![Column::integer("n")], Some(&path)).unwrap();
    for number in 0..250_000_i64 {
        writer.write(vec![number.into()]).unwrap();
    }
    assert_eq!(writer.finish().unwrap().rows, 250_000);
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.num_row_groups(), 3);
    let back = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().get_long(0).unwrap());
    assert!(back.eq(0..250_000));
}

#[test]
fn a_file_without_rows_is_still_a_file_of_its_form() {
    for format in [Format::Csv, Format::Ndjson, Format::Parquet] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        let writer = Writer::create(format, columns(), Some(&path)).unwrap();
        assert_eq!(writer.finish().unwrap().rows, 0);
        assert!(path.exists());
    }
}

#[test]
fn a_writer_that_is_given_up_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "old").unwrap();
    let mut writer = Writer::create(Format::Csv, columns(), Some(&path)).unwrap();
    writer.write(rows().into_iter().next().unwrap()).unwrap();
    drop(writer);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_row_of_other_columns_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let mut writer = Writer::create(Format::Csv, columns(), Some(&path)).unwrap();
    for bad in [vec![], vec![1.into(), 1.into(), true.into()]] {
        let error = writer.write(bad).expect_err("does not fit");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let path = Path::new("no-such-folder/rows.csv");
    let error = Writer::create(Format::Csv, columns(), Some(path))
        .err()
        .unwrap();
    let shown = unwritable(Some(path), &error).to_string();
    assert!(
        shown.starts_with("error[SL0003]: no-such-folder/rows.csv cannot be written: "),
        "{shown}"
    );
}
