//! When the children of a fan-out ended, at a cost that is bounded however many they are.

use kinfolk_core::filter::Filter;
use kinfolk_core::{FanOut, Timestamp};

use super::{Seen, View};

impl View<'_> {
    /// The moments at which the first, and then each further share, of the children of a fan-out that the caller was shown had
    /// ended, and the last of them. Nothing is told of a fan-out with children that the caller may not
    /// see, nor, to a caller with some queues, of one with more children than a look counts.
    pub(crate) async fn ended_by(&self, fan_out: &FanOut, shares: u32) -> Seen<Vec<Timestamp>> {
        let store = self.store()?;
        let ended = u32::try_from(fan_out.tally.ended()).unwrap_or(u32::MAX);
        let Some(last) = ended.checked_sub(1) else { return Ok(Vec::new()) };
        if self.caller.queues.is_some() {
            let children = Filter { fan_out: Some(fan_out.id), ..Filter::default() };
            if self.count(&children).await?.tasks < fan_out.tally.total {
                return Ok(Vec::new());
            }
        }
        let shares = shares.clamp(1, last.max(1));
        let index = |share| u64::from(last) * u64::from(share) / u64::from(shares);
        let indexes: Vec<u32> = (0..=shares).map(|share| u32::try_from(index(share)).unwrap_or(last)).collect();
        Ok(store.ended_at(fan_out.id, &indexes).await?)
    }
}
