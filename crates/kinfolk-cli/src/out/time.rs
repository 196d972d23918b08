//! Moments as people read them: how long ago, or how soon.

use kinfolk_core::Timestamp;

use crate::span;

/// `3 s ago`, `in 5 m`, `now`.
pub(crate) fn relative(now: Timestamp, moment: Timestamp) -> String {
    let (past, future) = (now.since(moment), moment.since(now));
    match (past.as_millis(), future.as_millis()) {
        (0, 0) => "now".to_owned(),
        (0, _) => format!("in {}", span::show(future)),
        _ => format!("{} ago", span::show(past)),
    }
}

/// The same, for a moment that may not have come; `-` then.
pub(crate) fn relative_or_none(now: Timestamp, moment: Option<Timestamp>) -> String {
    moment.map_or_else(|| "-".to_owned(), |moment| relative(now, moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_from_now() {
        let now = Timestamp::from_micros(10_000_000);
        assert_eq!(relative(now, Timestamp::from_micros(7_000_000)), "3 s ago");
        assert_eq!(relative(now, Timestamp::from_micros(310_000_000)), "in 5 m");
        assert_eq!(relative(now, now), "now");
        assert_eq!(relative_or_none(now, None), "-");
    }
}
