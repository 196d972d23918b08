//! The limits of the core as SQL functions: what `sql/limits.sql` must say.

use std::fmt::Write;

use kinfolk_core::limits as l;

/// The text of `sql/limits.sql`, generated from `kinfolk_core::limits`. A test holds the file to it.
pub fn limits_sql() -> String {
    let micros = |span: std::time::Duration| span.as_micros() as u64;
    let limits: &[(&str, &str, u64)] = &[
        ("name_bytes_max", "integer", l::NAME_BYTES_MAX as u64),
        ("unique_key_bytes_max", "integer", l::UNIQUE_KEY_BYTES_MAX as u64),
        ("payload_bytes_max", "bigint", l::PAYLOAD_BYTES_MAX as u64),
        ("result_bytes_max", "bigint", l::RESULT_BYTES_MAX as u64),
        ("error_bytes_max", "integer", l::ERROR_BYTES_MAX as u64),
        ("json_depth_max", "integer", l::JSON_DEPTH_MAX as u64),
        ("enqueue_batch_max", "integer", l::ENQUEUE_BATCH_MAX as u64),
        ("claim_batch_max", "integer", l::CLAIM_BATCH_MAX as u64),
        ("settle_batch_max", "integer", l::SETTLE_BATCH_MAX as u64),
        ("page_max", "integer", l::PAGE_MAX as u64),
        ("look_max", "integer", l::LOOK_MAX as u64),
        ("runs_shown_max", "integer", l::RUNS_SHOWN_MAX as u64),
        ("worker_commands_max", "integer", l::WORKER_COMMANDS_MAX as u64),
        ("attempts_default", "integer", u64::from(l::ATTEMPTS_DEFAULT)),
        ("attempts_max", "integer", u64::from(l::ATTEMPTS_MAX)),
        ("priority_abs_max", "integer", l::PRIORITY_ABS_MAX as u64),
        ("delay_max_us", "bigint", micros(l::DELAY_MAX)),
        ("timeout_max_us", "bigint", micros(l::TIMEOUT_MAX)),
        ("trace_bytes_max", "integer", l::TRACE_BYTES_MAX as u64),
        ("lease_min_us", "bigint", micros(l::LEASE_MIN)),
        ("lease_max_us", "bigint", micros(l::LEASE_MAX)),
        ("strikes_max", "integer", u64::from(l::STRIKES_MAX)),
        ("strike_delay_first_us", "bigint", micros(l::STRIKE_DELAY_FIRST)),
        ("strike_delay_max_us", "bigint", micros(l::STRIKE_DELAY_MAX)),
        ("sweep_page", "integer", l::SWEEP_PAGE as u64),
        ("depth_max", "integer", u64::from(l::DEPTH_MAX)),
        ("made_max", "integer", l::MADE_MAX as u64),
        ("status_commands_max", "integer", l::STATUS_COMMANDS_MAX as u64),
        ("label_path_bytes_max", "integer", l::LABEL_PATH_BYTES_MAX as u64),
        ("function_bytes_max", "integer", l::FUNCTION_BYTES_MAX as u64),
        ("steps_max", "integer", l::STEPS_MAX as u64),
        ("record_batch_max", "integer", l::RECORD_BATCH_MAX as u64),
        ("inline_results_max", "integer", l::INLINE_RESULTS_MAX as u64),
        ("signals_kept_max", "integer", l::SIGNALS_KEPT_MAX as u64),
        ("signals_awaited_max", "integer", l::SIGNALS_AWAITED_MAX as u64),
        ("groups_max", "integer", l::GROUPS_MAX as u64),
        ("group_key_bytes_max", "integer", l::GROUP_KEY_BYTES_MAX as u64),
        ("group_limit_max", "integer", u64::from(l::GROUP_LIMIT_MAX)),
        ("rate_max", "integer", u64::from(l::RATE_MAX)),
        ("rate_span_max_us", "bigint", micros(l::RATE_SPAN_MAX)),
        ("failed_tries_max", "integer", u64::from(l::FAILED_TRIES_MAX)),
        ("holders_shown_max", "integer", l::HOLDERS_SHOWN_MAX as u64),
        ("audit_kept_us", "bigint", micros(l::AUDIT_KEPT)),
        ("errors_kept_us", "bigint", micros(l::ERRORS_KEPT)),
        ("minutes_kept_us", "bigint", micros(l::MINUTES_KEPT)),
        ("minute_records_max", "integer", l::MINUTE_RECORDS_MAX as u64),
        ("progress_note_bytes_max", "integer", l::PROGRESS_NOTE_BYTES_MAX as u64),
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
