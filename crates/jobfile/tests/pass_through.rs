//! Files that only the real fio can run are read for it, with nothing lost.

mod real_fio;

use iobound_jobfile::{JobFile, Options, Strictness, parse_fio};
use iobound_record::{Extent, Rw};

fn read(text: &str) -> Result<JobFile, String> {
    let options = Options { strictness: Strictness::PassThrough, ..Options::default() };
    parse_fio(text, "t.fio", &options).map_err(|errors| errors.to_string())
}

const TEXT: &str = "\
[global]
direct=1
size=64k
exitall
ioengine=null
[a]
rw=randread:8
bs=4k,8k
verify_pattern=0xdeadbeef
made_up=1
[b]
rw=rw
bs=4k,8k
";

#[test]
fn what_iobound_would_refuse_is_kept_with_its_job() {
    let file = read(TEXT).unwrap();
    assert!(file.needs_fio());
    let kept = |i: usize| -> Vec<String> {
        file.kept[i].iter().map(|k| format!("{}:{}={:?}", k.place, k.option, k.value)).collect()
    };
    assert_eq!(
        kept(0),
        [
            "t.fio:4:exitall=None",
            "t.fio:7:rw=Some(\"randread:8\")",
            "t.fio:9:verify_pattern=Some(\"0xdeadbeef\")",
            "t.fio:10:made_up=Some(\"1\")"
        ]
    );
    assert_eq!(kept(1), ["t.fio:4:exitall=None", "t.fio:13:bs=Some(\"4k,8k\")"]);
    assert_eq!((file.jobs[0].direct, file.jobs[0].size), (true, Some(Extent::Bytes(65536))));
    assert_eq!(file.jobs[1].rw, Rw::Rw);
}

#[test]
fn the_text_for_fio_has_each_option_once() {
    let file = read(TEXT).unwrap();
    let commands: Vec<String> = file.fio_commands().iter().map(ToString::to_string).collect();
    assert_eq!(
        commands,
        [
            "fio --name=a --ioengine=null --bs=4k --size=64k --direct=1 --iodepth=1 --numjobs=1 --exitall \
             --rw=randread:8 --verify_pattern=0xdeadbeef --made_up=1",
            "fio --name=b --ioengine=null --rw=rw --rwmixread=50 --size=64k --direct=1 --iodepth=1 --numjobs=1 --exitall \
             --bs=4k,8k",
        ]
    );
    let again = read(&file.to_fio().text).unwrap();
    assert_eq!(again.jobs, file.jobs);
}

#[test]
fn the_real_fio_runs_it() {
    if real_fio::fio().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = read(&TEXT.replace("made_up=1\n", "")).unwrap();
    std::fs::write(directory.path().join("t.fio"), file.to_fio().text).unwrap();
    let told = real_fio::run_fio(directory.path(), &["t.fio"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn what_no_program_can_read_is_an_error_still() {
    assert!(read("[a]\nfilename=${NONE}\n").unwrap_err().contains("t.fio:2"));
    assert!(read("rw=read\n").unwrap_err().contains("t.fio:1"));
    assert!(read("[a]\n#iobound: dedup_unitt=8k\n").unwrap_err().contains("t.fio:2"));
    assert!(read("[a]\nkb_base=1000\nverify_interval=4k\n").unwrap_err().contains("plain number"));
    let many: String = (0..300).map(|i| format!("made_up{i}=1\n")).collect();
    assert!(read(&format!("[a]\n{many}")).unwrap_err().contains("the limit is 256"));
}
