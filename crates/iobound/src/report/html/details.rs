//! The evidence: each scenario in full, what it ran on, and how the numbers were taken.

use iobound_record::{Direction, LatencySummary, Measurement, Run, Scenario, units};
use maud::{Markup, html};

use super::first_screen::badge;
use super::plot::px;
use super::scenario_charts;
use crate::report::csv::direction_word;
use crate::report::figure::{time, title_of};
use crate::report::headline::{number_of, stop};
use crate::report::mark::Mark;
use crate::report::members::{members, mib, rate};
use crate::report::parameters::parameters;
use crate::report::phase;
use crate::report::stream;
use crate::report::surroundings::{context_lines, host_lines};
use crate::verdict::bound_in_words;

pub(super) fn scenarios(run: &Run) -> Markup {
    html! {
        @if !run.scenarios.is_empty() {
            section {
                h2 { "Each scenario" }
                @for (index, scenario) in run.scenarios.iter().enumerate() { (article(run, index, scenario)) }
            }
        }
    }
}

fn article(run: &Run, index: usize, scenario: &Scenario) -> Markup {
    html! {
        article.scenario id={ "scenario-" (index + 1) } {
            h3 { (badge(Mark::of(scenario, run))) " " (number_of(scenario, index)) ". " (title_of(scenario)) }
            @if let Some(phase) = phase::heading(scenario) { p.caption { (phase) } }
            @if let Some(about) = &scenario.job.description { p.caption { (about) } }
            (said(scenario))
            @if let Some(measured) = &scenario.measurement { (figures(measured)) }
            (member_disks(scenario))
            (scenario_charts::charts(scenario))
            @for section in stream::sections(scenario) { (stream_section(section)) }
            details {
                summary { "The job, and the same for fio" }
                (facts(parameters(scenario).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
                @if !scenario.program.is_empty() { pre { (scenario.program) } }
                @if !scenario.fio.is_empty() { pre { (scenario.fio) } }
            }
        }
    }
}

/// The verdict and what a reader must know to take the figures right.
fn said(scenario: &Scenario) -> Markup {
    let measured = scenario.measurement.as_ref();
    html! {
        @if let Some(error) = &scenario.error { p { strong { "Did not run: " } (error) } }
        @if !scenario.verdict.says.is_empty() { p { (stop(&scenario.verdict.says)) "." } }
        @if let Some(ceiling) = &scenario.ceiling {
            p.caption {
                "Ceiling: " (units::count(ceiling.iops)) " IOPS, " (units::bandwidth(ceiling.bandwidth_bytes_per_s))
                ", set by " (bound_in_words(&ceiling.bound)) ": " (ceiling.why)
            }
        }
        @if let Some(measured) = measured {
            @if measured.interrupted { p { "Cut short after " (units::duration(measured.runtime_ns)) "." } }
            @if measured.steady == Some(false) { p { "The rate did not hold still over the last intervals." } }
            @for (kind, count) in &measured.error_kinds {
                p { (units::count(*count as f64)) " operations failed: " (kind) }
            }
        }
        @if !scenario.verdict.findings.is_empty() {
            p.caption { "See finding " (scenario.verdict.findings.join(", ")) "." }
        }
    }
}

/// Each disk beside the others, where several share the work.
fn member_disks(scenario: &Scenario) -> Markup {
    let Some(members) = members(scenario) else { return html! {} };
    let most = members.disks.iter().map(|disk| rate(disk)).fold(0.0, f64::max);
    html! {
        div.scroll {
            table.members {
                thead {
                    tr {
                        th scope="col" { "Member disk" }
                        th.number scope="col" { "read MiB/s" }
                        th.number scope="col" { "write MiB/s" }
                        th.number scope="col" { "busy" }
                        th scope="col" { "share" }
                    }
                }
                tbody {
                    @for disk in &members.disks {
                        tr {
                            th scope="row" { (disk.device) }
                            td.number { (mib(disk.read_bytes_per_s.mean)) }
                            td.number { (mib(disk.write_bytes_per_s.mean)) }
                            td.number { (format!("{:.0}%", 100.0 * disk.utilisation.mean)) }
                            td.share {
                                svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
                                    rect.track width="100" height="10" {}
                                    rect.fill.neutral width=(px(if most > 0.0 { 100.0 * rate(disk) / most } else { 0.0 })) height="10" {}
                                }
                            }
                        }
                    }
                }
            }
        }
        p.caption { "Together " (members.in_words()) "." }
    }
}

type Column = (&'static str, fn(&LatencySummary) -> u64);
const LATENCY: [Column; 8] = [
    ("mean", |l| l.mean as u64),
    ("p50", |l| l.p50),
    ("p90", |l| l.p90),
    ("p95", |l| l.p95),
    ("p99", |l| l.p99),
    ("p99.9", |l| l.p99_9),
    ("p99.99", |l| l.p99_99),
    ("max", |l| l.max),
];

fn figures(measured: &Measurement) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "" }
                        @for name in ["IOPS", "MiB/s", "MB/s"] { th.number scope="col" { (name) } }
                        @for (name, _) in LATENCY { th.number scope="col" { (name) } }
                    }
                }
                tbody {
                    @for direction in Direction::ALL {
                        @let stats = measured.direction(direction);
                        @if stats.ios > 0 {
                            tr {
                                th scope="row" { (direction_word(direction)) }
                                td.number { (units::count(stats.iops)) }
                                @for unit in [units::MIB as f64, 1e6] {
                                    td.number {
                                        @if direction != Direction::Sync {
                                            (units::significant(stats.bandwidth_bytes_per_s / unit))
                                        }
                                    }
                                }
                                @for (_, of) in LATENCY { td.number { (time(of(&stats.latency_ns))) } }
                            }
                            @if let Some(due) = &stats.scheduled_latency_ns {
                                tr {
                                    th scope="row" { (direction_word(direction)) ", as due" }
                                    @for _ in 0..3 { td {} }
                                    @for (_, of) in LATENCY { td.number { (time(of(due))) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn facts(lines: Vec<(String, String)>) -> Markup {
    html! {
        table.facts {
            tbody {
                @for (name, value) in lines { tr { th scope="row" { (name) } td { (value) } } }
            }
        }
    }
}

/// One part of what a stream has to say.
fn stream_section(section: stream::Section) -> Markup {
    html! {
        h4 { (section.title) }
        @if !section.facts.is_empty() { (facts(section.facts)) }
        @if let Some(table) = section.table {
            div.scroll {
                table {
                    thead { tr { @for name in &table.head { th scope="col" { (name.trim_start_matches('>')) } } } }
                    tbody {
                        @for row in table.rows {
                            tr { @for (cell, head) in row.iter().zip(&table.head) {
                                td.number[head.starts_with('>')] { (cell) }
                            } }
                        }
                    }
                }
            }
        }
        @for words in section.says { p { (words) } }
    }
}

/// Host, context, how to repeat it and how to read it.
pub(super) fn surroundings(run: &Run) -> Markup {
    html! {
        section {
            h2 { "Host" }
            (facts(host_lines(run)))
            @if let Some(context) = &run.context {
                h2 { "Context: " (context.name) }
                p.caption { "What the hardware promises; ceilings are computed from it." }
                (facts(context_lines(context)))
            }
            h2 { "To repeat it" }
            pre { (run.command.join(" ")) }
            h2 { "How to read this" }
            ul {
                li { "Latency is from just before submission to completion. Percentiles are of all operations of "
                    "the scenario, never averages of percentiles." }
                li { "A ceiling is the lowest of all bounds on the job: operations and bytes of the volumes, the "
                    "machine's cap, time per operation, and what this tool can do; the lowest one binds. From 95% "
                    "on a scenario counts as at its ceiling, above 105% one of the two is wrong." }
                li { "1 MiB is 1,048,576 bytes, 1 MB is 1,000,000." }
                li { "This page says what the record (run.json) says; nothing was judged anew." }
            }
            p.caption { "iobound " (run.iobound) ", run " (run.id) }
        }
    }
}
