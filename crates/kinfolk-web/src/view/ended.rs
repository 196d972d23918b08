//! When the children of a fan-out ended, at a cost that does not grow with their number.

use kinfolk_core::{FanOut, ReadBy, Timestamp};

use super::{Seen, View};

impl View<'_> {
    /// The moments at which the first, and then each further share, of the children of a fan-out that the caller was shown had
    /// ended, and the last of them.
    pub(crate) async fn ended_by(&self, fan_out: &FanOut, shares: u32) -> Seen<Vec<Timestamp>> {
        let store = self.store()?;
        let ended = u32::try_from(fan_out.tally.ended()).unwrap_or(u32::MAX);
        let Some(last) = ended.checked_sub(1) else { return Ok(Vec::new()) };
        let mut moments = Vec::new();
        for share in 0..=shares {
            let index = u64::from(last) * u64::from(share) / u64::from(shares.max(1));
            let index = u32::try_from(index).unwrap_or(last);
            let child = store.results(fan_out.id, ReadBy::Ended, index, 1).await?.pop();
            if let Some(child) = child {
                moments.extend(store.task(child.task).await?.and_then(|task| task.finished_at));
            }
        }
        Ok(moments)
    }
}
