//! Time and chance: sleeping, the time, and random numbers, each the same whenever the handler runs again.

use std::time::Duration;

use kinfolk_core::{Json, StepKind, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::book::Wait;
use super::key::{of_span, random_bits};
use super::op::Op;
use crate::ctx::Ctx;
use crate::task_error::TaskError;

/// The digest of a sleep whose end was given.
const UNTIL: &str = "until";

impl Ctx {
    /// Sleeps without a worker, for this span from the first time it is asked for, by the store's clock. It may be years.
    pub async fn sleep(&self, span: Duration) -> Result<(), TaskError> {
        let (op, recorded) = self.begin("sleep", StepKind::Sleep, of_span(span))?;
        let until = match recorded {
            Some(value) => op.read(&value)?,
            None => {
                let until = self.clock().await?.plus(span);
                op.keep(json(&until)?).await?;
                until
            }
        };
        self.sleep_in(&op, until).await
    }

    /// Sleeps without a worker until this moment, as it was given the first time.
    pub async fn sleep_until(&self, moment: impl Into<Timestamp>) -> Result<(), TaskError> {
        let (op, recorded) = self.begin("sleep", StepKind::Sleep, UNTIL.to_owned())?;
        let until = match recorded {
            Some(value) => op.read(&value)?,
            None => {
                let until = moment.into();
                op.keep(json(&until)?).await?;
                until
            }
        };
        self.sleep_in(&op, until).await
    }

    async fn sleep_in(&self, op: &Op<'_>, until: Timestamp) -> Result<(), TaskError> {
        if self.has_passed(until).await? { Ok(()) } else { Err(op.wait(Wait::Until(until)).await) }
    }

    /// The store's clock, as it was the first time it was asked for.
    pub async fn now(&self) -> Result<Timestamp, TaskError> {
        let (op, recorded) = self.begin("now", StepKind::Now, String::new())?;
        if let Some(value) = recorded {
            return op.read(&value);
        }
        let now = self.clock().await?;
        op.keep(json(&now)?).await?;
        Ok(now)
    }

    /// A random value, as it was drawn the first time: a whole number, a `bool`, or an `f64` from 0 up to 1.
    pub async fn random<T: Random>(&self) -> Result<T, TaskError> {
        let (op, recorded) = self.begin("random", StepKind::Random, String::new())?;
        let bits = match recorded {
            Some(value) => op.read(&value)?,
            None => {
                let bits = random_bits();
                op.keep(json(&bits)?).await?;
                bits
            }
        };
        Ok(T::of_bits(bits))
    }
}

fn json<T: Serialize>(value: &T) -> Result<Json, TaskError> {
    Json::of(value).map_err(TaskError::from)
}

/// The types that [`Ctx::random`] can draw.
pub trait Random: DeserializeOwned + Send + sealed::Sealed {
    #[doc(hidden)]
    fn of_bits(bits: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! random {
    ($($type:ty: |$bits:ident| $value:expr;)+) => {
        $(impl sealed::Sealed for $type {}
        impl Random for $type {
            fn of_bits($bits: u64) -> Self {
                $value
            }
        })+
    };
}

random! {
    u64: |bits| bits;
    u32: |bits| (bits >> 32) as u32;
    u16: |bits| (bits >> 48) as u16;
    u8: |bits| (bits >> 56) as u8;
    i64: |bits| bits.cast_signed();
    i32: |bits| ((bits >> 32) as u32).cast_signed();
    bool: |bits| bits >> 63 == 1;
    // The 53 bits that a double holds to the digit.
    f64: |bits| (bits >> 11) as f64 / (1_u64 << 53) as f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_span_their_types() {
        assert_eq!((u64::of_bits(u64::MAX), u8::of_bits(u64::MAX), bool::of_bits(0)), (u64::MAX, u8::MAX, false));
        assert_eq!((f64::of_bits(0), i32::of_bits(u64::MAX)), (0.0, -1));
        assert!(f64::of_bits(u64::MAX) < 1.0);
    }
}
