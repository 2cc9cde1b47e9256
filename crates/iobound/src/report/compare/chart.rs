//! Intervals of speeds on one line each, with "no change" in the middle.

use iobound_model::statistics::Ratio;

/// Ends of the scale, percent: the first that holds every interval. A tenfold is enough to see.
const SCALES: [f64; 8] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 900.0];
/// Widest drawing: beyond it the eye no longer follows a line.
const WIDTH_MAX: usize = 60;
/// Narrowest that shows anything.
const WIDTH_MIN: usize = 20;

/// What a line is drawn with.
struct Ink {
    line: char,
    point: char,
    middle: char,
    below: char,
    above: char,
}

const UNICODE: Ink = Ink { line: '─', point: '●', middle: '│', below: '◀', above: '▶' };
const ASCII: Ink = Ink { line: '-', point: 'o', middle: '|', below: '<', above: '>' };

/// Lines of a chart of named ratios; none when there is nothing to draw or no room.
pub(super) fn lines(rows: &[(String, Ratio)], width: usize, unicode: bool) -> Vec<String> {
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    // An odd number of columns has one in the middle.
    let columns = (width.saturating_sub(names + 4).min(WIDTH_MAX) / 2 * 2).saturating_sub(1);
    if rows.is_empty() || columns < WIDTH_MIN {
        return Vec::new();
    }
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let far =
        rows.iter().flat_map(|(_, r)| [percent(r.low), percent(r.high)]).map(f64::abs).fold(0.0, f64::max);
    let scale = SCALES.into_iter().find(|&scale| scale >= far).unwrap_or(SCALES[SCALES.len() - 1]);
    let ink = if unicode { UNICODE } else { ASCII };
    let (left, right) = (format!("-{scale}%"), format!("+{scale}%"));
    let half = columns / 2;
    let mut lines = vec![format!(
        "  {:names$}  {left}{:>to_middle$}{right:>to_end$}",
        "",
        "0",
        to_middle = (half + 1).saturating_sub(left.len()),
        to_end = half
    )];
    let column = |ratio: f64| (percent(ratio) / scale * half as f64).round() as i64 + half as i64;
    lines.extend(rows.iter().map(|(name, ratio)| {
        let line = drawn([ratio.low, ratio.ratio, ratio.high].map(column), columns, &ink);
        format!("  {name:names$}  {}", line.trim_end())
    }));
    lines
}

fn drawn([low, point, high]: [i64; 3], columns: usize, ink: &Ink) -> String {
    let last = columns as i64 - 1;
    (0..=last)
        .map(|at| match at {
            at if at == point.clamp(0, last) && (0..=last).contains(&point) => ink.point,
            0 if low < 0 => ink.below,
            at if at == last && high > last => ink.above,
            at if (low..=high).contains(&at) => ink.line,
            at if at == last / 2 => ink.middle,
            _ => ' ',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, ratio: f64, high: f64) -> Ratio {
        Ratio { ratio, low, high, error: 0.0, degrees: 1.0 }
    }

    #[test]
    fn the_middle_is_no_change() {
        let rows = [
            ("up".to_owned(), ratio(1.04, 1.06, 1.08)),
            ("none".to_owned(), ratio(0.99, 1.0, 1.01)),
            ("down".to_owned(), ratio(0.91, 0.95, 0.99)),
        ];
        let text = lines(&rows, 48, false).join("\n");
        let expected = "
        -10%               0               +10%
  up                       |       ---o----
  none                   --o--
  down    -------o-------- |"
            .trim_start_matches('\n');
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn what_is_off_the_scale_has_an_arrow() {
        let rows = [("x".to_owned(), ratio(0.5, 12.0, 30.0))];
        assert!(lines(&rows, 60, true)[1].ends_with('▶'));
        assert!(lines(&rows, 20, true).is_empty() && lines(&[], 80, true).is_empty());
    }
}
