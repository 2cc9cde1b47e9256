//! The two sides of a network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::program::{Background, directory, run, text, wait_for_acks};

struct Server {
    program: Background,
    address: String,
    log: PathBuf,
}

fn server(directory: &Path, more: &[&str]) -> Server {
    let log = directory.join("served");
    let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--log", text(&log)];
    arguments.extend(more);
    let program = Background::start(directory, "server", &arguments);
    let told = program.wait_for("listening on ");
    let address = told.split("listening on ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    Server { program, address, log }
}

fn writer(directory: &Path, server: &Server, more: &[&str]) -> Background {
    let target = directory.join("target");
    let mut arguments =
        vec!["write", "--target", text(&target), "--acks", &server.address, "--size", "1m", "--threads", "2"];
    arguments.extend(more);
    Background::start(directory, "writer", &arguments)
}

#[test]
fn a_run_that_is_stopped_is_whole_on_the_other_side() {
    let directory = directory();
    let server = server(directory.path(), &["--once"]);
    let writer = writer(directory.path(), &server, &[]);
    wait_for_acks(&server.log, 50);
    writer.signal(Signal::INT);
    let (code, told) = writer.finish();
    assert_eq!(code, Some(0), "{told}");
    let count =
        told.split(": ").find_map(|part| part.split_once(" writes acknowledged")).unwrap().0.to_owned();
    let (code, told) = server.program.finish();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("{count} acknowledgements")) && told.contains("stopped"), "{told}");
    let target = directory.path().join("target");
    let told = run(&["verify", "--target", text(&target), "--acks", text(&server.log)], 4);
    assert!(told.contains("nothing was proved") && told.contains("ended before"), "{told}");
}

#[test]
fn a_writer_that_is_killed_has_promised_what_arrived() {
    let directory = directory();
    let server = server(directory.path(), &["--once"]);
    let writer = writer(directory.path(), &server, &["--sync", "odsync", "--preallocate", "reserve"]);
    wait_for_acks(&server.log, 50);
    writer.signal(Signal::KILL);
    drop(writer);
    let (_, told) = server.program.finish();
    assert!(told.contains("the connection is gone"), "{told}");
    let target = directory.path().join("target");
    let verify = ["verify", "--target", text(&target), "--acks", text(&server.log)];
    let told = run(&verify, 4);
    assert!(told.contains("has not been started anew"), "{told}");
    let json = directory.path().join("verdict.json");
    let told = run(&[&verify[..], &["--power-was-cut", "--json", text(&json)]].concat(), 0);
    assert!(told.contains("honest: all "), "{told}");
    let verdict: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(verdict["verdict"]["status"], "honest");
    // And what is wiped is missed.
    std::fs::write(&target, vec![0; 1 << 20]).unwrap();
    let told = run(&[&verify[..], &["--json", text(&json)]].concat(), 1);
    assert!(told.contains("lies: "), "{told}");
}

#[test]
fn a_writer_whose_other_side_is_gone_stops() {
    let directory = directory();
    let server = server(directory.path(), &[]);
    let writer = writer(directory.path(), &server, &[]);
    wait_for_acks(&server.log, 20);
    server.program.signal(Signal::KILL);
    let (code, told) = writer.finish();
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("the other side") && told.contains("were acknowledged before"), "{told}");
}

#[test]
fn a_server_that_is_stopped_says_so_to_its_writers() {
    let directory = directory();
    let server = server(directory.path(), &[]);
    let writer = writer(directory.path(), &server, &[]);
    wait_for_acks(&server.log, 20);
    server.program.signal(Signal::TERM);
    let (code, told) = server.program.finish();
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = writer.finish();
    assert_eq!(code, Some(4), "{told}");
}

/// What the server answers to some bytes.
fn answer(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut line = String::new();
    let _ = BufReader::new(&stream).read_line(&mut line);
    line
}

fn sealed(body: &str) -> String {
    format!("{body} {:08x}\n", crc32c(body.as_bytes()))
}

/// CRC-32C bit by bit: slow, and not the program's own.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

#[test]
fn whatever_else_connects_is_refused_and_the_log_stays_as_it_is() {
    let directory = directory();
    let server = server(directory.path(), &[]);
    let writer = writer(directory.path(), &server, &["--runtime", "300ms"]);
    assert_eq!(writer.finish().0, Some(0));
    let before = std::fs::read(&server.log).unwrap();
    let hello = String::from_utf8_lossy(&before).lines().next().unwrap().to_owned() + "\n";
    let ack = String::from_utf8_lossy(&before).lines().nth(1).unwrap().to_owned() + "\n";
    for (bytes, why) in [
        ("GET / HTTP/1.1\r\n\r\n".as_bytes().to_vec(), "checksum"),
        (vec![b'x'; 100_000], "checksum"),
        (ack.into_bytes(), "does not begin a run"),
        (sealed("hello {\"version\":2}").into_bytes(), "version 2"),
        // The run was here: what it acknowledged since is not known to this side.
        (hello.clone().into_bytes(), "cannot be continued"),
        (hello.as_bytes()[..40].iter().chain(b"\n").copied().collect(), "checksum"),
    ] {
        let answer = answer(&server, &bytes);
        assert!(answer.starts_with("refused ") && answer.contains(why), "{answer}");
    }
    assert_eq!(std::fs::read(&server.log).unwrap(), before);
    // A line that contradicts its run ends the connection, and is not kept.
    let run = "00000000000000aa";
    let other = hello.rsplit_once(' ').unwrap().0;
    let at = other.find("\"run\":\"").unwrap() + 7;
    let other = sealed(&format!("{}{run}{}", &other[..at], &other[at + 16..]));
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(other.as_bytes()).unwrap();
    stream.write_all(sealed(&format!("ack {run} 0 1 0 1")).as_bytes()).unwrap();
    stream.write_all(sealed(&format!("ack {run} 0 2 0 1")).as_bytes()).unwrap();
    let mut told = String::new();
    let _ = stream.read_to_string(&mut told);
    assert!(told.contains("welcome") && told.contains("refused") && told.contains("contradicts"), "{told}");
    let log = std::fs::read_to_string(&server.log).unwrap();
    assert!(log.contains(&format!("ack {run} 0 1 ")) && !log.contains(&format!("ack {run} 0 2 ")), "{log}");
}
