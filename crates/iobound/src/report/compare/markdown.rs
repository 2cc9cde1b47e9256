//! For a pull request or a page.

use super::{Sides, cells, change, interval, verdict_words};

/// The whole report.
pub fn to_markdown(all: &Sides) -> String {
    let mut text = String::from("# Comparison\n\n");
    for (index, side) in all.sides.iter().enumerate() {
        let word = if index == 0 { "First" } else { "Against it" };
        let ids: Vec<&str> = side.runs.iter().map(|run| run.id.as_str()).collect();
        text += &format!("- {word}: {} ({})\n", plain(&side.name), plain(&ids.join(", ")));
    }
    for part in all.parts {
        text += &format!("\n## {} against {}\n\n", plain(&part.name), plain(&all.sides[0].name));
        text += "| scenario | figure | first | other | change | 95% interval | verdict |\n";
        text += "|---|---|--:|--:|--:|--:|---|\n";
        for row in &part.against.rows {
            let verdict = verdict_words(row.verdict, all.same_within);
            text += &format!("| {} | {} | {verdict} |\n", plain(&row.name), cells(&row.judged).join(" | "));
            if let Some(tail) = &row.tail {
                text += &format!("| | {} | |\n", cells(tail).join(" | "));
            }
        }
        if let Some(overall) = part.against.overall.filter(|_| part.against.rows.len() > 1) {
            let mean = format!("{} | {}", change(overall.ratio), interval(&overall));
            text += &format!("| geometric mean | | | | {mean} | |\n");
        }
        text.push('\n');
        for difference in &part.against.differences {
            text += &format!("- Differs: {}\n", plain(difference));
        }
        for row in part.against.rows.iter().filter(|row| !row.notes.is_empty()) {
            text += &format!("- {}: {}\n", plain(&row.name), plain(&row.notes.join("; ")));
        }
        for left in &part.against.left_out {
            text += &format!("- Not compared: {}: {}\n", plain(&left.name), plain(&left.why));
        }
        for left in &part.against.thinned {
            text += &format!("- Without one repeat: {}: {}\n", plain(&left.name), plain(&left.why));
        }
    }
    for failure in all.failures() {
        text += &format!("- **FAIL** {}\n", plain(&failure));
    }
    if let Some(caution) = all.caution() {
        text += &format!("\n{caution}\n");
    }
    text += "\nChanges are of speed: + is faster, also where the figure is a time.\n";
    text
}

/// Text from a record: on one line, and without what would end a cell or begin a tag.
fn plain(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|").replace('<', "&lt;")
}
