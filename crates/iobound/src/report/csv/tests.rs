use super::*;
use crate::report::sample;

/// Cells of RFC 4180 text, by a reader of its own.
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(row.is_empty() && cell.is_empty() && !quoted, "the last row is not whole");
    rows
}

#[test]
fn each_row_has_a_cell_for_each_column() {
    let run = sample::troubled();
    for (text, rows) in [(summary(&run), 13), (series(&run), 60 * 12)] {
        let table = cells(&text);
        assert!(table.iter().all(|row| row.len() == table[0].len()));
        assert_eq!(table.len() - 1, rows);
    }
}

#[test]
fn a_name_with_commas_quotes_and_lines_stays_one_cell() {
    let mut run = sample::gp3();
    run.scenarios.truncate(1);
    run.scenarios[0].name = "a,\"b\"\nc".into();
    for text in [summary(&run), series(&run)] {
        assert!(cells(&text)[1].contains(&"a,\"b\"\nc".to_owned()));
    }
}

#[test]
fn figures_stand_under_their_names() {
    let table = cells(&summary(&sample::gp3()));
    let column = |name: &str| table[0].iter().position(|head| head == name).expect(name);
    let row = table.iter().find(|row| row[column("scenario")] == "rand-write").unwrap();
    let cell = |name: &str| row[column(name)].as_str();
    assert_eq!([cell("direction"), cell("iops"), cell("bandwidth_mib_per_s")], ["write", "12200", "95.3125"]);
    assert_eq!([cell("ceiling_iops"), cell("ceiling_bound"), cell("status")], ["12000", "volume-iops", "ok"]);
    assert_eq!([cell("runtime_s"), cell("latency_p99_ns"), cell("error")], ["60", "37620000", ""]);
}
