//! The limits of the core as SQL functions: what `sql/limits.sql` must say.

use std::fmt::Write;

use kinfolk_core::limits as l;

/// One limit of the core: its name and its type in SQL, and its value. A span is there in microseconds.
macro_rules! limit {
    (span $name:ident) => {
        (format!("{}_us", stringify!($name).to_lowercase()), "bigint", l::$name.as_micros() as u64)
    };
    ($kind:ident $name:ident) => {
        (stringify!($name).to_lowercase(), stringify!($kind), l::$name as u64)
    };
}

macro_rules! limits {
    ($($kind:ident $name:ident),+ $(,)?) => {
        [$(limit!($kind $name)),+]
    };
}

/// The text of `sql/limits.sql`, generated from `kinfolk_core::limits`. A test holds the file to it.
pub fn limits_sql() -> String {
    let limits = limits![
        integer NAME_BYTES_MAX,
        integer UNIQUE_KEY_BYTES_MAX,
        bigint PAYLOAD_BYTES_MAX,
        bigint RESULT_BYTES_MAX,
        integer ERROR_BYTES_MAX,
        integer JSON_DEPTH_MAX,
        integer ENQUEUE_BATCH_MAX,
        integer CLAIM_BATCH_MAX,
        integer SETTLE_BATCH_MAX,
        integer PAGE_MAX,
        integer LOOK_MAX,
        integer RUNS_SHOWN_MAX,
        integer WORKER_COMMANDS_MAX,
        integer ATTEMPTS_DEFAULT,
        integer ATTEMPTS_MAX,
        integer PRIORITY_ABS_MAX,
        span DELAY_MAX,
        span TIMEOUT_MAX,
        integer TRACE_BYTES_MAX,
        span LEASE_MIN,
        span LEASE_MAX,
        integer STRIKES_MAX,
        span STRIKE_DELAY_FIRST,
        span STRIKE_DELAY_MAX,
        integer SWEEP_PAGE,
        integer DEPTH_MAX,
        integer MADE_MAX,
        integer STATUS_COMMANDS_MAX,
        integer LABEL_PATH_BYTES_MAX,
        integer FUNCTION_BYTES_MAX,
        integer STEPS_MAX,
        integer RECORD_BATCH_MAX,
        integer INLINE_RESULTS_MAX,
        integer SIGNALS_KEPT_MAX,
        integer SIGNALS_AWAITED_MAX,
        integer GROUPS_MAX,
        integer GROUP_KEY_BYTES_MAX,
        integer GROUP_LIMIT_MAX,
        integer RATE_MAX,
        span RATE_SPAN_MAX,
        integer FAILED_TRIES_MAX,
        integer HOLDERS_SHOWN_MAX,
        span AUDIT_KEPT,
        span ERRORS_KEPT,
        span MINUTES_KEPT,
        integer MINUTE_RECORDS_MAX,
        integer PROGRESS_NOTE_BYTES_MAX,
    ];
    let mut sql = String::from(
        "-- Every limit of the engine. Generated from kinfolk_core::limits: don't edit; a test compares the two, and\n\
         -- with KINFOLK_WRITE_LIMITS=1 it writes this file anew.\n",
    );
    for (name, kind, value) in limits {
        write!(
            sql,
            "\ncreate or replace function kinfolk.{name}() returns {kind}\nlanguage sql immutable parallel safe\n\
             as $$ select {value}::{kind} $$;\n"
        )
        .expect("a string takes all there is");
    }
    sql
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_limits_in_sql_are_those_of_the_core() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/limits.sql");
        if std::env::var_os("KINFOLK_WRITE_LIMITS").is_some() {
            std::fs::write(path, super::limits_sql()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), super::limits_sql());
    }
}
