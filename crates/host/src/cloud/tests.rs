//! Against a metadata service of our own, on loopback.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::probe::Notes;

/// What the service does with a request: gets its first line and headers, returns the whole answer; None
/// is to hang.
type Serve = fn(&str) -> Option<String>;

/// A service on a port of its own, and how often it was asked.
fn service(serve: Serve) -> (MetadataEndpoint, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // Ends with the test's process; a hanging connection is kept open by its own thread.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                loop {
                    let mut head = String::new();
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while reader.read_line(&mut head).is_ok_and(|n| n > 2) {}
                    if head.is_empty() {
                        return;
                    }
                    match serve(&head) {
                        Some(answer) => {
                            let _ = stream.write_all(answer.as_bytes());
                        }
                        None => {
                            let _ = stream.read(&mut [0]);
                        }
                    }
                }
            });
        }
    });
    (MetadataEndpoint { base }, asked)
}

fn ok(body: &str) -> Option<String> {
    Some(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

fn not_found() -> Option<String> {
    Some("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno".into())
}

/// A machine whose firmware says these.
fn machine(entries: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("sys/class/dmi/id");
    fs::create_dir_all(&place).unwrap();
    for (name, text) in entries {
        fs::write(place.join(name), format!("{text}\n")).unwrap();
    }
    let system = System::captured(root.path());
    (root, system)
}

const EC2: &[(&str, &str)] =
    &[("sys_vendor", "Amazon EC2"), ("product_name", "c8gb.2xlarge"), ("board_asset_tag", "i-0abc")];
const AZURE: &[(&str, &str)] = &[
    ("sys_vendor", "Microsoft Corporation"),
    ("product_name", "Virtual Machine"),
    ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
];
const GOOGLE: &[(&str, &str)] = &[("sys_vendor", "Google"), ("product_name", "Google Compute Engine")];

/// Asks; also returns the notes and the time it took.
fn told(
    entries: &[(&str, &str)],
    metadata: MetadataEndpoint,
    offline: bool,
) -> (Option<Cloud>, String, Duration) {
    let (_root, system) = machine(entries);
    let options = ProbeOptions { offline, metadata, ..ProbeOptions::default() };
    let mut notes = Notes::default();
    let began = Instant::now();
    let cloud = identify(&system, &options, &mut notes);
    (cloud, notes.into_text(), began.elapsed())
}

fn ec2(head: &str) -> Option<String> {
    let low = head.to_lowercase();
    if head.starts_with("PUT /latest/api/token ") {
        return if low.contains("x-aws-ec2-metadata-token-ttl-seconds: 60") {
            ok("TOKEN==")
        } else {
            not_found()
        };
    }
    if !low.contains("x-aws-ec2-metadata-token: token==") {
        return Some("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".into());
    }
    assert!(head.starts_with("GET /latest/dynamic/instance-identity/document "), "{head}");
    ok(
        r#"{"instanceType": "c8gb.2xlarge", "instanceId": "i-0123", "region": "us-east-1", "availabilityZone": "us-east-1a", "privateIp": "10.0.0.1"}"#,
    )
}

#[test]
fn ec2_answers() {
    let (endpoint, _) = service(ec2);
    let (cloud, notes, _) = told(EC2, endpoint, false);
    let cloud = cloud.unwrap();
    assert_eq!(notes, "");
    assert_eq!((cloud.provider.as_str(), cloud.instance_type.as_str()), ("aws", "c8gb.2xlarge"));
    assert_eq!((cloud.instance_id.as_str(), cloud.region.as_str()), ("i-0123", "us-east-1"));
    assert_eq!((cloud.zone.as_str(), cloud.source.as_str()), ("us-east-1a", "metadata service"));
}

#[test]
fn azure_answers() {
    let (endpoint, _) = service(|head| {
        assert!(head.starts_with("GET /metadata/instance/compute?api-version="), "{head}");
        assert!(head.to_lowercase().contains("metadata: true"), "{head}");
        ok(r#"{"vmSize": "Standard_DS5_v2", "vmId": "5c0e", "location": "westeurope", "zone": ""}"#)
    });
    let (cloud, notes, _) = told(AZURE, endpoint, false);
    let cloud = cloud.unwrap();
    assert_eq!(notes, "");
    assert_eq!((cloud.instance_type.as_str(), cloud.region.as_str()), ("Standard_DS5_v2", "westeurope"));
}

#[test]
fn google_answers() {
    let (endpoint, _) = service(|head| {
        assert!(head.to_lowercase().contains("metadata-flavor: google"), "{head}");
        match head.split_whitespace().nth(1)?.rsplit('/').next()? {
            "machine-type" => ok("projects/123/machineTypes/n2-standard-8"),
            "zone" => ok("projects/123/zones/europe-west1-b"),
            "id" => ok("4520031799277581759"),
            _ => not_found(),
        }
    });
    let (cloud, notes, _) = told(GOOGLE, endpoint, false);
    let cloud = cloud.unwrap();
    assert_eq!(notes, "");
    assert_eq!((cloud.instance_type.as_str(), cloud.zone.as_str()), ("n2-standard-8", "europe-west1-b"));
    assert_eq!((cloud.region.as_str(), cloud.instance_id.as_str()), ("europe-west1", "4520031799277581759"));
}

/// Whatever the service does, what the firmware says stands, a note says why, and it does not take long.
#[test]
fn a_service_that_misbehaves() {
    let cases: [(&str, Serve); 8] = [
        ("hangs", |_| None),
        ("knows nothing", |_| not_found()),
        ("speaks no HTTP", |_| Some("\u{1}\u{2}garbage\r\n\r\n".into())),
        ("answers garbage", |head| if head.starts_with("PUT") { ok("T") } else { ok("{]") }),
        ("answers other JSON", |head| if head.starts_with("PUT") { ok("T") } else { ok("[1, null]") }),
        ("sends on", |_| {
            Some("HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n".into())
        }),
        ("sends too much", |_| ok(&"x".repeat(10 << 20))),
        ("promises too much", |_| Some("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx".into())),
    ];
    for (case, serve) in cases {
        for firmware in [EC2, AZURE, GOOGLE] {
            let (endpoint, _) = service(serve);
            let (cloud, notes, took) = told(firmware, endpoint, false);
            assert_eq!(cloud.unwrap().source, "firmware tables", "{case}");
            assert!(notes.contains("does not tell"), "{case}: {notes}");
            assert!(took < Duration::from_millis(1_500), "{case}: {took:?}");
        }
    }
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (cloud, notes, took) = told(EC2, MetadataEndpoint { base }, false);
    let cloud = cloud.unwrap();
    assert_eq!((cloud.instance_type.as_str(), cloud.instance_id.as_str()), ("c8gb.2xlarge", "i-0abc"));
    assert_eq!(cloud.source, "firmware tables");
    assert!(notes.contains("aws") && took < Duration::from_secs(1), "{notes} {took:?}");
}

#[test]
fn nobody_is_asked() {
    let laptop: &[(&str, &str)] = &[("sys_vendor", "LENOVO"), ("product_name", "21HM")];
    let hyperv: &[(&str, &str)] = &[
        ("sys_vendor", "Microsoft Corporation"),
        ("product_name", "Virtual Machine"),
        ("chassis_asset_tag", "1"),
    ];
    for (firmware, offline, provider) in [
        (EC2, true, "aws"),
        (AZURE, true, "azure"),
        (GOOGLE, true, "gcp"),
        (laptop, false, ""),
        (hyperv, false, ""),
    ] {
        let (endpoint, asked) = service(ec2);
        let (cloud, notes, _) = told(firmware, endpoint, offline);
        assert_eq!(cloud.map(|cloud| cloud.provider).unwrap_or_default(), provider);
        assert_eq!((asked.load(Ordering::SeqCst), notes.as_str()), (0, ""));
    }
    // A captured machine is not asked for at the real address either.
    let (cloud, notes, _) = told(EC2, MetadataEndpoint::default(), false);
    assert_eq!((cloud.unwrap().source.as_str(), notes.as_str()), ("firmware tables", ""));
}

proptest::proptest! {
    #[test]
    fn any_answer_is_read(text in "\\PC*", value in "[a-z0-9/.-]{0,20}") {
        read_any(&text);
        read_any(&format!("{{\"instanceType\": \"{value}\", \"vmSize\": [{{}}], \"zone\": 3}}"));
        read_any(&format!("{value}/machineTypes/{value}/zones/{value}"));
    }
}
