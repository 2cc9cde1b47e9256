//! The screen, readable from 80 columns and 24 lines on.

use iobound_record::{DeviceSample, HostSample, Rates, Sample, units};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

use super::view::{Order, Unit, View};

/// Columns of everything but the name and the bar.
const NUMBERS: usize = 54;
const NAME_LEAST: usize = 12;
const NAME_MOST: usize = 24;
/// Cells of the utilisation bar.
const BAR_LEAST: usize = 3;
const BAR_MOST: usize = 20;
/// Gap before the bar and the figure after it.
const AROUND_BAR: usize = 5;
/// Lines above the devices, for the total, and least lines for the devices.
const TOP_LINES: u16 = 3;
const TOTAL_LINES: u16 = 2;
const DEVICES_LEAST: u16 = 4;
/// The graph with its title.
const HISTORY_LEAST: u16 = 4;
const HISTORY_MOST: u16 = 12;
const PROCESSES_MOST: u16 = 4;
/// Names of kernel threads are longer than those of programs (15).
const PROCESS_NAME: usize = 20;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Paints a frame.
pub(super) fn paint(frame: &mut Frame, view: &mut View) {
    let processes = view
        .sample
        .as_ref()
        .and_then(|sample| sample.processes.as_ref())
        .map_or(0, |all| (all.len() as u16).min(PROCESSES_MOST) + u16::from(!all.is_empty()));
    let rows = (view.rows().len() as u16).max(1);
    let room = frame.area().height.saturating_sub(TOP_LINES + TOTAL_LINES);
    // The devices come first, then the graph, then the processes.
    let spare = room.saturating_sub(rows.min(DEVICES_LEAST));
    let history = spare.min(HISTORY_LEAST);
    let processes = spare.saturating_sub(history).min(processes);
    let devices = room.saturating_sub(history + processes).min(rows);
    let history = room.saturating_sub(devices + processes).min(HISTORY_MOST);
    let [top, head, devices, total, graph, others] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(devices),
        Constraint::Length(TOTAL_LINES),
        Constraint::Length(history),
        Constraint::Length(processes),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(top_lines(view, top.width)), top);
    let columns = Columns::of(frame.area().width);
    frame.render_widget(Paragraph::new(columns.head(view)), head);
    paint_devices(frame, view, &columns, devices);
    if let Some(sample) = &view.sample {
        let rule = Line::styled("\u{2500}".repeat(columns.width()), DIM);
        let row = columns.row("total", Some(&sample.total), view.unit, BOLD);
        frame.render_widget(Paragraph::new(vec![rule, row]), total);
        paint_processes(frame, sample, view.unit, others);
    }
    paint_history(frame, view, graph);
}

fn paint_devices(frame: &mut Frame, view: &mut View, columns: &Columns, area: Rect) {
    let lines: Vec<Line> =
        view.rows().into_iter().map(|(depth, device)| columns.device(depth, device, view.unit)).collect();
    if lines.is_empty() {
        let words = if view.sample.is_none() {
            "the first interval is not over"
        } else {
            "no device did anything yet; a shows all"
        };
        frame.render_widget(Paragraph::new(Line::styled(words, DIM)), area);
        return;
    }
    let height = usize::from(area.height);
    let hidden = lines.len().saturating_sub(height);
    view.scroll = view.scroll.min(hidden);
    let last = view.scroll + height;
    let mut shown: Vec<Line> = lines.iter().skip(view.scroll).take(height).cloned().collect();
    if hidden > 0 && last < lines.len() && height > 1 {
        let more = lines.len() - last + 1;
        shown[height - 1] = Line::styled(format!("  {more} more: down"), DIM);
    }
    frame.render_widget(Paragraph::new(shown), area);
}

fn top_lines(view: &View, width: u16) -> Vec<Line<'static>> {
    let every = units::duration(view.interval.as_nanos() as u64);
    let what = if view.paused { "PAUSED" } else { "iobound monitor" };
    let left = format!("{what}  {every}  sort {}", view.order.name());
    let keys = "q quit  space pause  u unit  a all  \u{2190}\u{2192} sort";
    let gap = usize::from(width).saturating_sub(left.chars().count() + keys.chars().count()).max(1);
    let host = view.sample.as_ref().map(|sample| host_line(&sample.host)).unwrap_or_default();
    vec![
        Line::from(vec![Span::styled(left, BOLD), Span::raw(" ".repeat(gap)), Span::styled(keys, DIM)]),
        Line::raw(host),
    ]
}

/// Page cache, processors and pressure in one line, the most telling first.
pub(super) fn host_line(host: &HostSample) -> String {
    let mut parts = Vec::new();
    if let Some(dirty) = host.dirty_bytes {
        parts.push(format!("dirty {}", units::bytes(dirty)));
    }
    if let Some(writeback) = host.writeback_bytes {
        parts.push(format!("writeback {}", units::bytes(writeback)));
    }
    let shares = [("user", host.cpu_user), ("sys", host.cpu_system), ("iowait", host.cpu_iowait)];
    let cpu: Vec<String> =
        shares.iter().filter_map(|(name, share)| Some(format!("{name} {:.0}%", (*share)? * 100.0))).collect();
    if !cpu.is_empty() {
        parts.push(cpu.join(" "));
    }
    if let Some(io) = host.psi_io_some {
        parts.push(format!("psi io {:.0}%", io * 100.0));
    }
    if let Some(steal) = host.cpu_steal.filter(|steal| *steal >= 0.005) {
        parts.push(format!("steal {:.0}%", steal * 100.0));
    }
    parts.join("  ")
}

fn paint_history(frame: &mut Frame, view: &View, area: Rect) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    let [title, graph] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let points: Vec<u64> = view
        .history
        .iter()
        .skip(view.history.len().saturating_sub(usize::from(area.width)))
        .map(|bytes| *bytes as u64)
        .collect();
    let peak = points.iter().copied().max().unwrap_or(0);
    let words = format!(
        "total, {} intervals, peak {} {}",
        points.len(),
        units::significant(view.unit.of(peak as f64)),
        view.unit.name()
    );
    frame.render_widget(Paragraph::new(Line::styled(words, DIM)), title);
    let line = Sparkline::default().data(&points).max(peak.max(1)).style(Style::new().fg(Color::Cyan));
    frame.render_widget(line, graph);
}

fn paint_processes(frame: &mut Frame, sample: &Sample, unit: Unit, area: Rect) {
    let Some(processes) = sample.processes.as_ref().filter(|all| !all.is_empty()) else { return };
    let mut lines = vec![Line::styled(format!("other processes, {}", unit.name()), DIM)];
    lines.extend(processes.iter().map(|process| {
        Line::raw(format!(
            "{:>8} {} read {:>9}  write {:>9}",
            process.pid,
            fitted(&process.name, PROCESS_NAME),
            units::significant(unit.of(process.read_bytes_per_s)),
            units::significant(unit.of(process.write_bytes_per_s)),
        ))
    }));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Widths for a terminal: what is over goes to the name and the bar.
struct Columns {
    name: usize,
    bar: usize,
}

impl Columns {
    fn of(width: u16) -> Columns {
        let over = usize::from(width).saturating_sub(NUMBERS);
        let name = (over / 2).clamp(NAME_LEAST, NAME_MOST);
        let bar = over.saturating_sub(name + AROUND_BAR).clamp(BAR_LEAST, BAR_MOST);
        Columns { name, bar }
    }

    fn width(&self) -> usize {
        self.name + NUMBERS + self.bar + AROUND_BAR
    }

    fn head(&self, view: &View) -> Line<'static> {
        let unit = view.unit.name();
        let name = format!("{:<width$}", unit, width = self.name);
        let titles = [
            (Order::Read, format!("{:>8}", "read")),
            (Order::Write, format!("{:>8}", "write")),
            (Order::Total, format!("{:>8}", "total")),
            (Order::Iops, format!("{:>7}{:>7}", "r/s", "w/s")),
            (Order::Queue, format!("{:>6}", "queue")),
        ];
        let mut spans = vec![Span::styled(name, DIM)];
        for (order, title) in titles {
            spans.push(Span::styled(title, if order == view.order { BOLD } else { DIM }));
        }
        spans.push(Span::styled(format!("{:>10}", "await ms"), DIM));
        let style = if view.order == Order::Utilisation { BOLD } else { DIM };
        spans.push(Span::styled(" util %", style));
        Line::from(spans)
    }

    fn device(&self, depth: usize, device: &DeviceSample, unit: Unit) -> Line<'static> {
        let indent = "  ".repeat(depth.min(4));
        self.row(&format!("{indent}{}", device.device), device.rates.as_ref(), unit, Style::new())
    }

    fn row(&self, name: &str, rates: Option<&Rates>, unit: Unit, style: Style) -> Line<'static> {
        let name = fitted(name, self.name);
        let Some(rates) = rates else {
            return Line::from(vec![Span::styled(name, style), Span::styled("       -", DIM)]);
        };
        let bandwidth = |bytes: f64| number(unit.of(bytes), 8);
        let text = format!(
            "{name}{}{}{}{}{}{}{:>10}",
            bandwidth(rates.read_bytes_per_s),
            bandwidth(rates.write_bytes_per_s),
            bandwidth(rates.bytes_per_s()),
            count(rates.read_iops, 7),
            count(rates.write_iops, 7),
            number(rates.queue, 6),
            waits(rates),
        );
        let busy = Style::new().fg(colour(rates.utilisation));
        Line::from(vec![
            Span::styled(text, style),
            Span::raw(" "),
            Span::styled(bar(rates.utilisation, self.bar), busy),
            Span::styled(format!("{:>4.0}", rates.utilisation * 100.0), style),
        ])
    }
}

/// A name in exactly this many columns.
fn fitted(name: &str, width: usize) -> String {
    if name.chars().count() > width {
        let kept: String = name.chars().take(width.saturating_sub(1)).collect();
        return format!("{kept}~");
    }
    format!("{name:<width$}")
}

/// Nothing is a point, so that what moves stands out.
fn number(value: f64, width: usize) -> String {
    let text = if value < 0.005 { ".".to_owned() } else { units::significant(value) };
    format!("{text:>width$}")
}

fn count(value: f64, width: usize) -> String {
    let text = if value < 0.005 {
        ".".to_owned()
    } else if value < 10.0 {
        format!("{value:.1}")
    } else if value >= 99_999.5 {
        format!("{}k", units::count(value / 1e3))
    } else {
        units::count(value)
    };
    format!("{text:>width$}")
}

/// Mean time of reads and of writes.
fn waits(rates: &Rates) -> String {
    let ms = |ns: Option<u64>| match ns.map(|ns| ns as f64 / 1e6) {
        None => "-".to_owned(),
        Some(ms) if ms < 9.95 => format!("{ms:.1}"),
        Some(ms) if ms < 9999.5 => format!("{ms:.0}"),
        Some(ms) => format!("{:.0}s", ms / 1e3),
    };
    if rates.read_await_ns.is_none() && rates.write_await_ns.is_none() {
        return ".".into();
    }
    format!("{}/{}", ms(rates.read_await_ns), ms(rates.write_await_ns))
}

fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [char; 8] =
        [' ', '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}'];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut text = "\u{2588}".repeat(eighths / 8);
    if eighths / 8 < width {
        text.push(EIGHTHS[eighths % 8]);
    }
    let missing = width.saturating_sub(text.chars().count());
    text + &" ".repeat(missing)
}

fn colour(share: f64) -> Color {
    match share {
        _ if share >= 0.9 => Color::Red,
        _ if share >= 0.6 => Color::Yellow,
        _ => Color::Green,
    }
}

#[cfg(test)]
mod tests;
