//! Every record that is not one, and what is said of it.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::report::terminal::{Look, render_report};
use crate::report::{files, markdown, sample};

fn written(bytes: &[u8]) -> (tempfile::TempDir, Result<Run, LoadError>) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(RECORD), bytes).unwrap();
    let loaded = load(directory.path());
    (directory, loaded)
}

/// A whole record with one field set.
fn edited(pointer: &str, value: Value) -> String {
    let mut record = serde_json::to_value(sample::gp3()).unwrap();
    *record.pointer_mut(pointer).unwrap() = value;
    record.to_string()
}

#[test]
fn a_record_reads_back_from_its_directory_and_its_file() {
    let text = serde_json::to_string(&sample::troubled()).unwrap();
    let run: Run = serde_json::from_str(&text).unwrap();
    let (directory, loaded) = written(text.as_bytes());
    assert_eq!(loaded.unwrap(), run);
    assert_eq!(load(&directory.path().join(RECORD)).unwrap(), run);
    let with_mark = format!("\u{feff}{text}");
    assert_eq!(written(with_mark.as_bytes()).1.unwrap(), run);
}

#[test]
fn every_bad_record_is_named_with_its_field_and_remedy() {
    let whole = serde_json::to_string(&sample::gp3()).unwrap();
    let text = |text: &str| text.as_bytes().to_vec();
    let cases = [
        ("empty", text(" \n")),
        ("cut short", whole.as_bytes()[..whole.len() / 2].to_vec()),
        ("not JSON", text("a,b\n1,2\n")),
        ("NaN by hand", text(&whole.replacen("\"iops\":536.0", "\"iops\":NaN", 1))),
        ("binary", vec![0x7f, b'E', b'L', b'F', 0, 0xff]),
        ("gzip", vec![0x1f, 0x8b, 8, 0]),
        ("a list", text("[1, 2]")),
        ("foreign", text("{\"name\": \"x\", \"version\": 3}")),
        ("fio", text("{\"fio version\": \"fio-3.33\", \"jobs\": []}")),
        ("newer", text("{\"schema\": 7, \"iobound\": \"2.1.0\", \"trials\": []}")),
        ("older", text("{\"schema\": 0}")),
        ("schema as text", text("{\"schema\": \"one\"}")),
        ("wrong type", text(&edited("/scenarios/3/measurement/write/iops", json!("fast")))),
        ("unknown word", text(&edited("/scenarios/0/verdict/status", json!("great")))),
        ("null rate", text(&edited("/scenarios/1/measurement/read/iops", Value::Null))),
        ("negative count", text(&edited("/scenarios/0/measurement/write/ios", json!(-5)))),
        ("negative rate", text(&edited("/scenarios/0/measurement/write/iops", json!(-5.0)))),
        ("negative in series", text(&edited("/scenarios/2/measurement/series/7/read/iops", json!(-1.0)))),
        ("negative ceiling", text(&edited("/scenarios/9/ceiling/iops", json!(-1.0)))),
        ("too large a number", text(&whole.replacen("\"iops\":536.0", "\"iops\":1e999", 1))),
    ];
    let said: Vec<String> = cases
        .iter()
        .map(|(name, bytes)| {
            let (directory, loaded) = written(bytes);
            let error = loaded.unwrap_err().to_string();
            let (file, words) = error.split_once("run.json: ").expect(&error);
            assert_eq!(Path::new(file), directory.path(), "{name}");
            format!("{name}: {words}")
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_is_no_file_is_said_so() {
    let directory = tempfile::tempdir().unwrap();
    let missing = load(&directory.path().join("nothing")).unwrap_err();
    assert!(missing.remedy.contains("iobound run"), "{missing}");
    assert!(load(directory.path()).unwrap_err().cause.contains("no run.json in it"));
    assert!(load(Path::new("/dev/null")).unwrap_err().cause.contains("not a regular file"));
}

#[test]
fn a_record_too_large_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(RECORD);
    // Sparse: nothing is written.
    File::create(&path).unwrap().set_len(BYTES_MAX + 1).unwrap();
    assert!(load(&path).unwrap_err().cause.contains("larger than 256 MiB"));
}

/// A small record with everything in it, so that a mutation hits something that matters.
fn small() -> Value {
    let mut run = sample::troubled();
    run.scenarios.retain(|scenario| [1, 2, 9].contains(&scenario.id));
    for measured in run.scenarios.iter_mut().filter_map(|scenario| scenario.measurement.as_mut()) {
        measured.series.truncate(3);
    }
    serde_json::to_value(run).unwrap()
}

/// Every place in a record, as JSON pointers.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| places(field, &format!("{at}/{name}"), out));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| places(item, &format!("{at}/{i}"), out));
        }
        _ => {}
    }
}

fn odd_values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(u32::MAX)),
        Just(json!(1e308)),
        Just(json!(5e-324)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("")),
        Just(json!("../../x\u{0}\n|`<script>alert(1)</script>\"'&")),
        any::<f64>().prop_map(|value| json!(value)),
        any::<u64>().prop_map(|value| json!(value)),
        any::<String>().prop_map(|value| json!(value)),
    ]
}

fn render_everything(run: &Run) -> String {
    let look = Look { width: 80, colour: true, unicode: false };
    let mut text = render_report(run, look) + &markdown::whole(run);
    for (_, file) in files::all(run) {
        text += &file;
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_record_is_refused_or_rendered(
        changes in prop::collection::vec((any::<prop::sample::Index>(), odd_values()), 1..6),
    ) {
        let mut record = small();
        for (place, value) in changes {
            let mut all = Vec::new();
            places(&record, "", &mut all);
            if let Some(field) = record.pointer_mut(&all[place.index(all.len())]) {
                *field = value;
            }
        }
        if let Ok(run) = parse(record.to_string().as_bytes()) {
            render_everything(&run);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_rendered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&bytes).is_err());
    }
}

#[test]
fn runs_with_little_in_them_are_rendered() {
    let mut cut = sample::gp3();
    cut.interrupted = true;
    cut.scenarios.truncate(1);
    let measured = cut.scenarios[0].measurement.as_mut().unwrap();
    measured.interrupted = true;
    measured.series.clear();
    let mut failed = sample::gp3();
    for scenario in &mut failed.scenarios {
        scenario.measurement.as_mut().unwrap().errors = 3;
        scenario.measurement.as_mut().unwrap().error_kinds = vec![("I/O error".into(), 3)];
    }
    let mut nothing = sample::gp3();
    nothing.scenarios.iter_mut().for_each(|scenario| scenario.measurement = None);
    assert!(render_everything(&sample::empty()).contains("No scenario ran."));
    assert!(render_everything(&cut).contains("cut short"));
    assert!(render_everything(&failed).contains("I/O error"));
    assert!(render_everything(&nothing).contains("Nothing was measured."));
}
