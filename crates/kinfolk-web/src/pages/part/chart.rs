//! Charts over time: a line on a pale ground, and a stair with what failed below the line. Each is one path, however many
//! columns it has; what it shows is told in words beside it, or in a table behind it.

use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;

use super::words;

/// A line on a pale ground.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<svg class="spark {{ class }}" aria-hidden="true" viewBox="0 0 100 24" preserveAspectRatio="none"><path class="ground" d="{{ line }}V24H0z"/><path class="line" d="{{ line }}"/></svg>"#
)]
pub(crate) struct Spark {
    class: &'static str,
    line: String,
}

/// How many ended in each column, completed above and failed below the line, each at its own scale.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<svg class="steps" role="img" aria-label="{{ label }}"><line x1="0" x2="100%" y1="16" y2="16"/><line x1="0" x2="100%" y1="62" y2="62"/><text x="100%" dx="44" y="20" text-anchor="end">{{ high }}</text><text x="100%" dx="44" y="66" text-anchor="end">{{ half }}</text><text x="100%" dx="44" y="112" text-anchor="end">0</text><svg class="completed" y="16" width="100%" height="92" viewBox="0 0 {{ wide }} 92" preserveAspectRatio="none"><path class="stair" d="{{ above }}"/></svg><svg class="failed" y="110" width="100%" height="12" viewBox="0 0 {{ wide }} 12" preserveAspectRatio="none"><path class="fill" d="{{ below }}"/></svg>{% if worst > 0 %}<text x="100%" dx="44" y="124" text-anchor="end">{{ worst }}</text>{% endif %}{% for tick in ticks %}<text x="{{ tick.0 }}%" y="140"{% if !loop.first %} text-anchor="{% if loop.last %}end{% else %}middle{% endif %}"{% endif %}>{{ tick.1 }}</text>{% endfor %}</svg>"#
)]
pub(crate) struct Stair {
    label: String,
    wide: usize,
    above: String,
    below: String,
    high: String,
    half: String,
    worst: u64,
    ticks: Vec<(String, String)>,
}

impl HtmlSafe for Spark {}
impl HtmlSafe for Stair {}

/// The width of a column of a stair.
const COLUMN: usize = 10;

impl Spark {
    /// These counts, the earliest first; `None` where there is nothing to draw.
    pub(crate) fn new(class: &'static str, counts: &[u64]) -> Option<Self> {
        let most = counts.iter().copied().max().filter(|most| *most > 0 && counts.len() > 1)?;
        let mut line = String::new();
        for (index, count) in counts.iter().enumerate() {
            let x = index as f64 * 100.0 / (counts.len() - 1) as f64;
            let y = 23.0 - *count as f64 * 21.0 / most as f64;
            // Writing to a text does not fail.
            let _ = write!(line, "{}{} {}", if index == 0 { 'M' } else { 'L' }, tenth(x), tenth(y));
        }
        Some(Self { class, line })
    }
}

impl Stair {
    /// These columns of completed and failed, the earliest first. `ticks`: what stands below it, from its beginning to its end.
    pub(crate) fn new(columns: &[(u64, u64)], label: String, ticks: &[String]) -> Self {
        let most = columns.iter().map(|(completed, _)| *completed).max().unwrap_or_default();
        let worst = columns.iter().map(|(_, failed)| *failed).max().unwrap_or_default();
        let high = round(most);
        let (mut above, mut below) = ("M0 92".to_owned(), String::new());
        for (index, (completed, failed)) in columns.iter().enumerate() {
            let top = 92.0 - *completed as f64 * 92.0 / high as f64;
            let _ = write!(above, "V{}h{COLUMN}", tenth(top));
            if *failed > 0 {
                let deep = (failed * 12).div_ceil(worst).max(3);
                let _ = write!(below, "M{} 0h{}v{deep}h-{}z", index * COLUMN + 1, COLUMN - 2, COLUMN - 2);
            }
        }
        above.push_str("V92z");
        let apart = |index: usize| tenth(index as f64 * 100.0 / ticks.len().saturating_sub(1).max(1) as f64);
        Self {
            label,
            wide: columns.len() * COLUMN,
            above,
            below,
            high: words::count(high),
            half: if high.is_multiple_of(2) { words::count(high / 2) } else { String::new() },
            worst,
            ticks: ticks.iter().enumerate().map(|(index, tick)| (apart(index), tick.clone())).collect(),
        }
    }
}

/// The least of 2, 4, 10, 20, 40, 100 and so on that holds a number: half of each is whole.
fn round(number: u64) -> u64 {
    let mut ten: u64 = 1;
    loop {
        if let Some(high) = [2, 4, 10].map(|step| step * ten).into_iter().find(|high| *high >= number) {
            return high;
        }
        ten = ten.saturating_mul(10);
    }
}

fn tenth(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_has_a_line_from_end_to_end_and_none_for_nothing() {
        let text = Spark::new("completed", &[0, 10, 5]).unwrap().render().unwrap();
        assert!(text.contains(r#"class="line" d="M0 23L50 2L100 12.5""#), "{text}");
        assert!(Spark::new("completed", &[0, 0]).is_none() && Spark::new("completed", &[7]).is_none());
    }

    #[test]
    fn a_stair_is_as_high_as_a_round_number_and_failures_hang_below() {
        let stair = Stair::new(&[(0, 0), (3, 1), (4, 2)], "said".to_owned(), &["13:00".to_owned(), "now".to_owned()]);
        let text = stair.render().unwrap();
        assert!(text.contains(r#"d="M0 92V92h10V23h10V0h10V92z""#), "{text}");
        assert!(text.contains("M11 0h8v6h-8z") && text.contains("M21 0h8v12h-8z"), "{text}");
        assert_eq!([0, 3, 5, 41, 399].map(round), [2, 4, 10, 100, 400]);
    }
}
