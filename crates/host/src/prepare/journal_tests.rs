use super::*;

fn step(id: &str) -> Step {
    Step { id: id.into(), ..Step::default() }
}

fn filled(dir: &Path) {
    let mut journal = Journal::open(dir, "m1").unwrap();
    for id in ["a", "b", "c"] {
        let seq = journal.begin(("ctx", "h"), &step(id), vec![Undo::Directory { path: id.into() }]).unwrap();
        if id != "c" {
            journal.done(seq).unwrap();
        }
    }
}

fn told(journal: &Journal) -> String {
    journal.entries().iter().map(|e| format!("{}:{:?}", e.step, e.state)).collect::<Vec<_>>().join(" ")
}

#[test]
fn it_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(told(&Journal::read(dir.path(), "m1").unwrap()), "");
    filled(dir.path());
    let mut journal = Journal::open(dir.path(), "m1").unwrap();
    assert_eq!(told(&journal), "a:Done b:Done c:Begun");
    assert!(matches!(Journal::open(dir.path(), "m1"), Err(JournalError::Locked { .. })));
    journal.undoing(3).unwrap();
    journal.undone(3).unwrap();
    journal.undoing(2).unwrap();
    journal.kept(2).unwrap();
    assert_eq!(journal.begin(("ctx", "h"), &step("d"), Vec::new()).unwrap(), 4);
    drop(journal);
    assert_eq!(told(&Journal::read(dir.path(), "m1").unwrap()), "a:Done b:Done d:Begun");
    assert!(Journal::read(dir.path(), "m1").unwrap().is_for("ctx").is_ok());
    let other = Journal::read(dir.path(), "m1").unwrap().is_for("other").unwrap_err().to_string();
    assert!(other.contains("context 'ctx' is applied here: undo that first"), "{other}");
}

/// Cut at any byte, it is what it was at the last whole line, and goes on from there.
#[test]
fn half_written() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let path = dir.path().join(NAME);
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
        let mut journal = Journal::open(dir.path(), "m1").unwrap();
        assert_eq!(journal.entries().len(), lines.div_ceil(2), "{length}");
        journal.begin(("ctx", "h"), &step("next"), Vec::new()).unwrap();
        drop(journal);
        assert!(told(&Journal::read(dir.path(), "m1").unwrap()).ends_with("next:Begun"), "{length}");
    }
}

#[test]
fn garbage_and_other_machines() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let said = |machine: &str| Journal::read(dir.path(), machine).unwrap_err().to_string();
    assert!(said("m2").contains("written on machine m1, and this is m2"), "{}", said("m2"));
    let path = dir.path().join(NAME);
    let good = fs::read_to_string(&path).unwrap();
    for (bad, line) in [
        (good.replacen("begun", "begin", 1), 1),
        (format!("{good}\0\0\0\n"), 6),
        (good.lines().rev().collect::<Vec<_>>().join("\n") + "\n", 2),
        (format!("{good}{good}"), 6),
    ] {
        fs::write(&path, bad).unwrap();
        assert!(said("m1").contains(&format!("line {line}:")), "{}", said("m1"));
    }
}
