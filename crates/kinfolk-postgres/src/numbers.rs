//! Task numbers kept at hand, so that a small enqueue need not ask for its own first.
//!
//! A producer that enqueues again and again takes some more numbers than it needs, and uses the rest the next time: one
//! round trip less on the way from an enqueue to its handler. One that enqueues once takes what it needs.
//!
//! Never hands out a number twice, nor one below a number that it has handed out before: of tasks that are due at the
//! same moment, the tasks that one program enqueues first come first. Never hands out a number that was taken before the newest
//! connection was made: behind it may be another server, one that took over and knows nothing of these numbers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most that is kept. A call that needs more asks.
const KEPT_MAX: usize = 64;
/// How long they are kept, so that the order of numbers is roughly the order of tasks.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// Counts the connections that were made.
pub(crate) type Made = Arc<AtomicU64>;

/// The numbers at hand.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    made: Made,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    numbers: VecDeque<i64>,
    /// When they were taken, and how many connections had been made by then.
    taken: Option<(Instant, u64)>,
    /// How many to take beyond what is needed, the next time.
    beyond: usize,
    highest: i64,
}

/// The source of numbers for a call that needs some.
#[derive(Debug, PartialEq)]
pub(crate) enum Source {
    /// Use these.
    AtHand(Vec<i64>),
    /// Ask for so many, and [`Numbers::keep`] the answer.
    Ask { many: usize, made: u64 },
}

impl Numbers {
    /// With a counter that each new connection counts up.
    pub(crate) fn new(made: Made) -> Self {
        Self { made, kept: Mutex::default() }
    }

    /// Numbers for a call that goes over a connection which the caller has in hand already.
    pub(crate) fn take(&self, many: usize) -> Source {
        let made = self.made.load(Ordering::SeqCst);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = kept.taken.is_some_and(|(at, then)| at.elapsed() < KEPT_FOR && then == made);
        if !fresh {
            kept.numbers.clear();
            kept.beyond = 0;
        }
        if many > KEPT_MAX {
            return Source::Ask { many, made };
        }
        if kept.numbers.len() >= many {
            let taken: Vec<i64> = kept.numbers.drain(..many).collect();
            kept.highest = taken.last().copied().unwrap_or_default().max(kept.highest);
            return Source::AtHand(taken);
        }
        let beyond = kept.beyond;
        kept.beyond = (2 * beyond + many).min(KEPT_MAX);
        kept.taken = Some((Instant::now(), made));
        Source::Ask { many: many + beyond, made }
    }

    /// The numbers of an answer: the first `many` are for the caller, the others are kept.
    pub(crate) fn keep(&self, mut asked: Vec<i64>, many: usize, made: u64) -> Vec<i64> {
        let rest = asked.split_off(many.min(asked.len()));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.highest = asked.iter().copied().max().unwrap_or_default().max(kept.highest);
        let highest = kept.highest;
        kept.numbers.retain(|number| *number > highest);
        if rest.first().is_some_and(|first| *first > highest) {
            kept.numbers = rest.into();
            kept.taken = Some((Instant::now(), made));
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes numbers as the store does, from a sequence that goes on at `next`.
    fn take(numbers: &Numbers, next: &mut i64, many: usize) -> Vec<i64> {
        match numbers.take(many) {
            Source::AtHand(taken) => taken,
            Source::Ask { many: asked, made } => {
                let taken = (*next..).take(asked).collect();
                *next += asked as i64;
                numbers.keep(taken, many, made)
            }
        }
    }

    #[test]
    fn a_single_enqueue_takes_one_number_and_many_ask_less_and_less_often() {
        let (numbers, mut next) = (Numbers::default(), 1);
        assert_eq!(take(&numbers, &mut next, 1), [1]);
        assert_eq!(next, 2, "nothing was taken beyond it");
        let mut asked = 0;
        for number in 2..1000 {
            let before = next;
            assert_eq!(take(&numbers, &mut next, 1), [number]);
            asked += usize::from(next != before);
        }
        assert!(asked < 30, "asked {asked} times");
    }

    #[test]
    fn a_large_call_asks_for_itself_and_nothing_below_it_is_handed_out_afterwards() {
        let (numbers, mut next) = (Numbers::default(), 1);
        for _ in 0..10 {
            take(&numbers, &mut next, 1);
        }
        let large = take(&numbers, &mut next, KEPT_MAX + 1);
        assert!(take(&numbers, &mut next, 1)[0] > *large.last().unwrap());
    }

    #[test]
    fn of_two_calls_that_ask_at_once_the_later_numbers_are_kept() {
        let numbers = Numbers::default();
        numbers.take(1);
        let (Source::Ask { many: first, made }, Source::Ask { many: second, .. }) = (numbers.take(1), numbers.take(1))
        else {
            panic!("nothing is at hand")
        };
        let (early, late) = ((1..).take(first).collect(), (100..).take(second).collect());
        assert_eq!(numbers.keep(late, 1, made), [100]);
        assert_eq!(numbers.keep(early, 1, made), [1]);
        assert_eq!(numbers.take(1), Source::AtHand(vec![101]));
    }

    #[test]
    fn numbers_from_before_the_newest_connection_are_not_used() {
        let made = Made::default();
        let (numbers, mut next) = (Numbers::new(Arc::clone(&made)), 1);
        for _ in 0..3 {
            take(&numbers, &mut next, 1);
        }
        made.fetch_add(1, Ordering::SeqCst);
        assert!(matches!(numbers.take(1), Source::Ask { many: 1, .. }));
    }
}
