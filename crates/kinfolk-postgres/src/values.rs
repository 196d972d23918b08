//! How the core's values travel: moments as `timestamptz`, JSON as `jsonb` without being parsed, spans as microseconds.

use std::error::Error;
use std::time::Duration;

use kinfolk_core::store::Answer;
use kinfolk_core::{Json, Timestamp};
use serde::Serialize;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Boxed = Box<dyn Error + Sync + Send>;

/// From 1970, where the core begins to count, to 2000, where PostgreSQL does.
const EPOCH_US: i64 = 946_684_800_000_000;
/// The first moment PostgreSQL knows, by its own count. (Its last one lies behind the core's last one.)
const FIRST_US: i64 = -211_813_488_000_000_000;

/// A moment on its way to or from the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl ToSql for Moment {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        let micros = self.0.as_micros().saturating_sub(EPOCH_US).max(FIRST_US);
        out.extend_from_slice(&micros.to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Boxed> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(Timestamp::from_micros(micros.saturating_add(EPOCH_US))))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}

/// The difference of two moments on its way from the database; one that is below zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval(pub(crate) Duration);

impl<'a> FromSql<'a> for Interval {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Boxed> {
        let (micros, rest) = raw.split_at_checked(8).ok_or("an interval is cut off")?;
        let (days, _) = rest.split_at_checked(4).ok_or("an interval is cut off")?;
        let (micros, days) = (i64::from_be_bytes(micros.try_into()?), i32::from_be_bytes(days.try_into()?));
        // A difference of moments has no months, and its days have 24 hours.
        let micros = micros.saturating_add(i64::from(days).saturating_mul(86_400_000_000));
        Ok(Self(Duration::from_micros(u64::try_from(micros).unwrap_or_default())))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::INTERVAL
    }
}

/// JSON on its way to the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonIn<'a>(pub(crate) &'a str);

impl ToSql for JsonIn<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        out.extend_from_slice(&[1]);
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::JSONB
    }

    to_sql_checked!();
}

/// A value that goes to the database as JSON of its own.
#[derive(Debug)]
pub(crate) struct JsonText(Json);

impl JsonText {
    pub(crate) fn of<T: Serialize>(value: &T) -> Answer<Self> {
        Ok(Self(Json::of(value)?))
    }
}

impl ToSql for JsonText {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Boxed> {
        JsonIn(self.0.as_str()).to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <JsonIn<'_> as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// JSON on its way from the database.
#[derive(Clone, Debug)]
pub(crate) struct JsonOut(pub(crate) Json);

impl<'a> FromSql<'a> for JsonOut {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Boxed> {
        match raw {
            [1, text @ ..] => Ok(Self(Json::trusted(std::str::from_utf8(text)?))),
            _ => Err("jsonb of an unknown version".into()),
        }
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::JSONB
    }
}

/// A span in microseconds. Spans beyond what fits were refused before.
pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// A span from microseconds.
pub(crate) fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
