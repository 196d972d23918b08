//! A bar of progress: completed grows from the left, failed and cancelled from the right, what is open lies between. A mark
//! stands at what the rule needs.

use askama::Template;
use askama::filters::HtmlSafe;
use kinfolk_core::{FanOut, Rule, State, Tally, Task};

use super::words;

/// The bar.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r##"<svg class="bar" role="img" aria-label="{{ label }}"><rect class="track" width="100%" height="100%" rx="2"/>{% for piece in pieces %}<rect {% if piece.class == "cancelled" %}fill="url(#h-cancelled)"{% else %}class="fill {{ piece.class }}"{% endif %} x="{{ piece.x }}%" width="{{ piece.width }}%" height="100%" rx="1.5"/>{% endfor %}{% if let Some(need) = need %}<line class="need" x1="{{ need }}%" x2="{{ need }}%" y1="-3" y2="11"/>{% endif %}</svg>"##
)]
pub(crate) struct Bar {
    pieces: Vec<Piece>,
    label: String,
    need: Option<String>,
}

/// One stretch of a bar.
#[derive(Clone)]
pub(crate) struct Piece {
    class: &'static str,
    x: String,
    width: String,
}

impl HtmlSafe for Bar {}

impl Bar {
    /// These counts side by side, from left to right, out of so many.
    pub(crate) fn of(counts: &[(&'static str, &str, u64)], total: u64) -> Self {
        let mut at = 0;
        let mut pieces = Vec::new();
        for &(class, _, many) in counts.iter().filter(|(_, _, many)| *many > 0) {
            pieces.push(Piece { class, x: percent(at, total), width: percent(many, total) });
            at += many;
        }
        let said: Vec<String> = counts
            .iter()
            .filter(|(.., many)| *many > 0)
            .map(|(_, word, many)| format!("{} {word}", words::count(*many)))
            .collect();
        let label = if said.is_empty() { "nothing yet".to_owned() } else { said.join(", ") };
        Self { pieces, label: format!("{label} of {}", words::count(total)), need: None }
    }

    /// Completed, open, cancelled, failed.
    pub(crate) fn tally(tally: &Tally) -> Self {
        Self::of(
            &[
                ("completed", "completed", tally.completed),
                ("waiting", "open", tally.open()),
                ("cancelled", "cancelled", tally.cancelled),
                ("failed", "failed", tally.failed),
            ],
            tally.total,
        )
    }

    /// A family with its root; none of a task alone.
    pub(crate) fn family(root: &Task, below: &Tally) -> Option<Self> {
        (below.total > 0).then(|| Self::tally(&with_root(root, below)))
    }

    /// The same with the mark of a rule, where it needs a part of them or all.
    #[must_use]
    pub(crate) fn needs(mut self, fan_out: &FanOut) -> Self {
        let needed = fan_out.rule.needed(fan_out.tally.total);
        if !matches!(fan_out.rule, Rule::CollectAll) && fan_out.tally.total > 0 {
            self.label.push_str(&format!("; {} must complete", words::count(needed)));
            self.need = Some(percent(needed, fan_out.tally.total));
        }
        self
    }
}

/// The counts of a family with its root, which the counts of what is below it leave out.
pub(crate) fn with_root(root: &Task, below: &Tally) -> Tally {
    let is = |state: State| u64::from(root.state == state);
    Tally {
        total: below.total + 1,
        completed: below.completed + is(State::Completed),
        failed: below.failed + is(State::Failed),
        cancelled: below.cancelled + is(State::Cancelled),
    }
}

fn percent(part: u64, whole: u64) -> String {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    let text = format!("{share:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_it_shows_and_escapes_it() {
        let tally = Tally { total: 24, completed: 17, failed: 1, cancelled: 0 };
        let text = Bar::tally(&tally).render().unwrap();
        assert!(text.contains(r#"aria-label="17 completed, 6 open, 1 failed of 24""#), "{text}");
        assert!(text.contains(r#"class="fill completed" x="0%" width="70.83%""#), "{text}");
        let hostile = Bar::of(&[("failed", "\"><script>", 1)], 1).render().unwrap();
        assert!(!hostile.contains("<script>"), "{hostile}");
    }
}
