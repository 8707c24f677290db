//! binlog-rivals FILE MODE PASSES: a whole binlog file by mysql_common, one JSON line a pass.
//!
//!     floor   nothing but headers and CRC32 (crc32fast), without the library
//!     events  every event parsed, rows not looked at
//!     decode  every column of every image into the library's values, JSON columns to text
//!     json    the same, then the envelope into one buffer
//!
//! The library does not verify CRC32.
use mysql_common::binlog::BinlogFile;
use mysql_common::binlog::consts::BinlogVersion;
use mysql_common::binlog::events::{EventData, OptionalMetadataField};
use mysql_common::binlog::jsonb;
use mysql_common::binlog::row::BinlogRow;
use mysql_common::binlog::value::BinlogValue;
use mysql_common::value::Value;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::time::Instant;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Default)]
struct Count {
    events: u64,
    ins: u64,
    upd: u64,
    del: u64,
    cells: u64,
    pk_sum: i64,
    json_bytes: u64,
    check: u64,
}

struct Table {
    head: Vec<u8>,
    names: Vec<Vec<u8>>,
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    for pass in 1..=a[3].parse::<u32>().unwrap() {
        let (cpu, t0) = (cpu_s(), Instant::now());
        let c = match a[2].as_str() {
            "floor" => floor(&a[1]),
            mode => parse(&a[1], mode),
        };
        println!(
            "{{\"peer\":\"{}\",\"mode\":\"{}\",\"pass\":{},\"events\":{},\"ins\":{},\"upd\":{},\"del\":{},\"cells\":{},\"pk_sum\":{},\"json_bytes\":{},\"wall_s\":{:.3},\"cpu_s\":{:.3}}}",
            if a[2] == "floor" {
                "crc32fast"
            } else {
                "mysql_common"
            },
            a[2],
            pass,
            c.events,
            c.ins,
            c.upd,
            c.del,
            c.cells,
            c.pk_sum,
            c.json_bytes,
            t0.elapsed().as_secs_f64(),
            cpu_s() - cpu
        );
    }
}

fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}

fn floor(path: &str) -> Count {
    let mut c = Count::default();
    let mut f = File::open(path).unwrap();
    let mut buf = vec![0u8; 4 << 20];
    let (mut have, mut skip) = (0usize, 4usize);
    loop {
        let n = f.read(&mut buf[have..]).unwrap();
        if n == 0 {
            break;
        }
        have += n;
        let mut p = skip;
        skip = 0;
        while have - p >= 19 {
            let size = u32::from_le_bytes(buf[p + 9..p + 13].try_into().unwrap()) as usize;
            if have - p < size {
                break;
            }
            let event = &buf[p..p + size];
            let stored = u32::from_le_bytes(event[size - 4..].try_into().unwrap());
            assert!(
                event[4] == 15 || crc32fast::hash(&event[..size - 4]) == stored,
                "crc at event {}",
                c.events
            );
            match event[4] {
                30 => c.ins += 1,
                31 => c.upd += 1,
                32 => c.del += 1,
                _ => {}
            }
            c.events += 1;
            p += size;
        }
        buf.copy_within(p..have, 0);
        have -= p;
    }
    c
}

fn parse(path: &str, mode: &str) -> Count {
    let json = mode == "json";
    let mut c = Count::default();
    let mut tables: HashMap<u64, Table> = HashMap::new();
    let mut out: Vec<u8> = Vec::with_capacity(1 << 20);
    let mut file = BinlogFile::new(
        BinlogVersion::Version4,
        BufReader::with_capacity(1 << 20, File::open(path).unwrap()),
    )
    .unwrap();
    while let Some(event) = file.next() {
        let event = event.unwrap();
        c.events += 1;
        if mode == "events" {
            let _ = event.read_data().unwrap();
            continue;
        }
        let header = event.header();
        match event.read_data().unwrap() {
            Some(EventData::TableMapEvent(t)) => {
                // one build per table id: the library hands out the metadata again for every event
                tables.entry(t.table_id()).or_insert_with(|| Table {
                    head: format!(
                        ",\"db\":\"{}\",\"table\":\"{}\"",
                        t.database_name(),
                        t.table_name()
                    )
                    .into_bytes(),
                    names: t
                        .iter_optional_meta()
                        .filter_map(|m| match m.unwrap() {
                            OptionalMetadataField::ColumnName(n) => Some(
                                n.iter_names()
                                    .map(|n| n.unwrap().name_raw().to_vec())
                                    .collect::<Vec<_>>(),
                            ),
                            _ => None,
                        })
                        .next()
                        .unwrap_or_default(),
                });
            }
            Some(EventData::RowsEvent(r)) => {
                let id = r.table_id();
                let tme = file.reader().get_tme(id).unwrap();
                for row in r.rows(tme) {
                    let (before, after) = row.unwrap();
                    let op = match (&before, &after) {
                        (None, Some(_)) => {
                            c.ins += 1;
                            b'c'
                        }
                        (Some(_), None) => {
                            c.del += 1;
                            b'd'
                        }
                        _ => {
                            c.upd += 1;
                            b'u'
                        }
                    };
                    if let Some(BinlogValue::Value(v)) =
                        after.as_ref().or(before.as_ref()).unwrap().as_ref(0)
                    {
                        c.pk_sum += match v {
                            Value::Int(i) => *i,
                            Value::UInt(u) => *u as i64,
                            v => panic!("{v:?}"),
                        };
                    }
                    if !json {
                        for image in [&before, &after].into_iter().flatten() {
                            c.cells += image.len() as u64;
                            for i in 0..image.len() {
                                if let Some(BinlogValue::Jsonb(j)) = image.as_ref(i) {
                                    c.check += serde_json::Value::try_from(j.clone())
                                        .unwrap()
                                        .to_string()
                                        .len()
                                        as u64;
                                }
                            }
                        }
                        continue;
                    }
                    let t = &tables[&id];
                    out.clear();
                    write!(out, "{{\"op\":\"{}\"", op as char).unwrap();
                    out.extend_from_slice(&t.head);
                    write!(
                        out,
                        ",\"ts\":{},\"pos\":{},\"before\":",
                        header.timestamp(),
                        header.log_pos()
                    )
                    .unwrap();
                    image(&mut out, &t.names, &before, &mut c);
                    out.extend_from_slice(b",\"after\":");
                    image(&mut out, &t.names, &after, &mut c);
                    out.push(b'}');
                    c.json_bytes += out.len() as u64;
                }
            }
            _ => {}
        }
    }
    c
}

fn image(out: &mut Vec<u8>, names: &[Vec<u8>], row: &Option<BinlogRow>, c: &mut Count) {
    let Some(row) = row else {
        out.extend_from_slice(b"null");
        return;
    };
    c.cells += row.len() as u64;
    for (i, name) in names.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"{\"" } else { b",\"" });
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        match row.as_ref(i) {
            Some(BinlogValue::Value(v)) => value(out, v),
            Some(BinlogValue::Jsonb(j)) => json_column(out, j),
            _ => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

fn json_column(out: &mut Vec<u8>, j: &jsonb::Value<'_>) {
    serde_json::to_writer(out, &serde_json::Value::try_from(j.clone()).unwrap()).unwrap();
}

fn value(out: &mut Vec<u8>, v: &Value) {
    match v {
        Value::NULL => out.extend_from_slice(b"null"),
        Value::Int(i) => out.extend_from_slice(itoa::Buffer::new().format(*i).as_bytes()),
        Value::UInt(i) => out.extend_from_slice(itoa::Buffer::new().format(*i).as_bytes()),
        Value::Float(f) => out.extend_from_slice(ryu::Buffer::new().format(*f).as_bytes()),
        Value::Double(f) => out.extend_from_slice(ryu::Buffer::new().format(*f).as_bytes()),
        Value::Bytes(b) => match std::str::from_utf8(b) {
            Ok(s) => serde_json::to_writer(out, s).unwrap(),
            Err(_) => serde_json::to_writer(out, &String::from_utf8_lossy(b)).unwrap(),
        },
        Value::Date(y, m, d, h, i, s, u) => {
            write!(out, "\"{y:04}-{m:02}-{d:02}T{h:02}:{i:02}:{s:02}.{u:06}\"").unwrap()
        }
        Value::Time(neg, d, h, i, s, u) => write!(
            out,
            "\"{}{:02}:{i:02}:{s:02}.{u:06}\"",
            if *neg { "-" } else { "" },
            d * 24 + *h as u32
        )
        .unwrap(),
    }
}
