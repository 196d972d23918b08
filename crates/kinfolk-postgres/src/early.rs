//! Whether a claim is worth trying before the groups of its tasks are asked.
//!
//! Where keys are full, or tasks come back, such a claim is undone and made again the other way: that is work for nothing. So
//! after one that was undone a queue's claims go the other way for a while, which is longer the more are undone one after another.
//!
//! Nothing depends on it being right; it lives in this process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kinfolk_core::QueueName;

/// How many claims go the other way after one that was undone, at the most.
const PAUSE_MAX: u32 = 64;

/// What is known of queues where the last one was undone.
#[derive(Default)]
pub(crate) struct Early(Mutex<HashMap<QueueName, Pause>>);

struct Pause {
    /// How many claims are still to go the other way.
    left: u32,
    /// How many there were in all.
    whole: u32,
}

impl Early {
    /// Whether this claim is to be tried.
    pub(crate) fn may_try(&self, queue: &QueueName) -> bool {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(queue) {
            Some(pause) if pause.left > 0 => {
                pause.left -= 1;
                false
            }
            _ => true,
        }
    }

    /// One was tried.
    pub(crate) fn tried(&self, queue: &QueueName, undone: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if undone {
            let whole = all.get(queue).map_or(1, |pause| (2 * pause.whole).min(PAUSE_MAX));
            all.insert(queue.clone(), Pause { left: whole, whole });
        } else {
            all.remove(queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_claims_are_undone_the_longer_the_next_ones_go_the_other_way() {
        let (early, queue) = (Early::default(), QueueName::default());
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert!(early.may_try(&queue));
            early.tried(&queue, true);
            assert!(early.may_try(&QueueName::new("other").unwrap()), "another queue is not concerned");
            assert!((0..pause).all(|_| !early.may_try(&queue)));
        }
        early.tried(&queue, false);
        early.tried(&queue, true);
        assert!(!early.may_try(&queue) && early.may_try(&queue), "one that was not undone has ended it");
    }
}
