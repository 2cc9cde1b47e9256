//! Ceilings as a person reads them, and as JSON.

use iobound_model::ceiling::Ceilings;
use iobound_record::{Ceiling, Job, units};
use serde_json::{Value, json};

use super::terminal::job_words;

/// A layout with the jobs asked about.
pub struct Part {
    /// What the layout is.
    pub title: String,
    /// One a job.
    pub rows: Vec<Row>,
}

/// A job and its bounds.
pub struct Row {
    /// Number within its suite.
    pub id: u32,
    /// Name.
    pub name: String,
    /// The job.
    pub job: Job,
    /// Its bounds.
    pub ceilings: Ceilings,
}

impl Part {
    /// For programs.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(row_json).collect();
        json!({ "layout": self.title, "scenarios": rows })
    }
}

fn row_json(row: &Row) -> Value {
    let bounds: Vec<Value> = row
        .ceilings
        .bounds
        .iter()
        .map(|bound| json!({ "bound": bound.id, "iops": bound.iops, "why": bound.why }))
        .collect();
    json!({
        "id": row.id,
        "name": row.name,
        "job": row.job,
        "ceiling": row.ceilings.ceiling(),
        "burst": row.ceilings.burst,
        "bounds": bounds,
    })
}

/// One table a layout: the ceiling of each job, and below it the arithmetic.
pub fn render(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        text += &format!("{}\n\n", part.title);
        text += &format!(
            "{:>4}  {:<16} {:>9} {:>9} {:>9}  bound by\n",
            "", "scenario", "IOPS", "MiB/s", "(MB/s)"
        );
        for row in &part.rows {
            text += &one(row);
        }
        text.push('\n');
    }
    text += "A ceiling is the lowest of what the volumes, the machine and time allow; that one binds.\n\
             1 MiB = 1,048,576 bytes, 1 MB = 1,000,000.\n";
    text
}

fn one(row: &Row) -> String {
    let job = job_words(&row.job);
    let Some(ceiling) = row.ceilings.ceiling() else {
        return format!(
            "{:>4}  {:<16} {:>9}\n{:>22} {job}: nothing is promised that holds it\n",
            row.id, row.name, "-", ""
        );
    };
    let mut text = format!("{:>4}  {:<16} {}  {}\n", row.id, row.name, figures(&ceiling), ceiling.bound);
    text += &format!("      {job}: {}\n", ceiling.why);
    if let Some(burst) = &row.ceilings.burst {
        let lasts = row
            .ceilings
            .burst_ns_per_day
            .map_or(String::new(), |ns| format!(", at least {} a day", units::duration(ns)));
        text += &format!("      {:<16} {}  {} (burst{lasts})\n", "", figures(burst), burst.bound);
    }
    text
}

fn figures(ceiling: &Ceiling) -> String {
    let bytes = ceiling.bandwidth_bytes_per_s;
    format!(
        "{:>9} {:>9} {:>9}",
        units::count(ceiling.iops),
        units::significant(bytes / units::MIB as f64),
        format!("({})", units::significant(bytes / 1e6))
    )
}
