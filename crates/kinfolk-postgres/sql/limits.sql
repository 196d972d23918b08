-- Every limit of the engine. Generated from kinfolk_core::limits: don't edit; a test compares the two, and
-- with KINFOLK_WRITE_LIMITS=1 it writes this file anew.

create or replace function kinfolk.name_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 128::integer $$;

create or replace function kinfolk.unique_key_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 200::integer $$;

create or replace function kinfolk.payload_bytes_max() returns bigint
language sql immutable parallel safe
as $$ select 262144::bigint $$;

create or replace function kinfolk.result_bytes_max() returns bigint
language sql immutable parallel safe
as $$ select 262144::bigint $$;

create or replace function kinfolk.error_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 4096::integer $$;

create or replace function kinfolk.json_depth_max() returns integer
language sql immutable parallel safe
as $$ select 100::integer $$;

create or replace function kinfolk.enqueue_batch_max() returns integer
language sql immutable parallel safe
as $$ select 10000::integer $$;

create or replace function kinfolk.claim_batch_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.settle_batch_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.page_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.look_max() returns integer
language sql immutable parallel safe
as $$ select 10000::integer $$;

create or replace function kinfolk.runs_shown_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.worker_commands_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.attempts_default() returns integer
language sql immutable parallel safe
as $$ select 10::integer $$;

create or replace function kinfolk.attempts_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.priority_abs_max() returns integer
language sql immutable parallel safe
as $$ select 1000000::integer $$;

create or replace function kinfolk.delay_max_us() returns bigint
language sql immutable parallel safe
as $$ select 316224000000000::bigint $$;

create or replace function kinfolk.timeout_max_us() returns bigint
language sql immutable parallel safe
as $$ select 31622400000000::bigint $$;

create or replace function kinfolk.trace_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 256::integer $$;

create or replace function kinfolk.lease_min_us() returns bigint
language sql immutable parallel safe
as $$ select 1000000::bigint $$;

create or replace function kinfolk.lease_max_us() returns bigint
language sql immutable parallel safe
as $$ select 3600000000::bigint $$;

create or replace function kinfolk.strikes_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.strike_delay_first_us() returns bigint
language sql immutable parallel safe
as $$ select 1000000::bigint $$;

create or replace function kinfolk.strike_delay_max_us() returns bigint
language sql immutable parallel safe
as $$ select 300000000::bigint $$;

create or replace function kinfolk.sweep_page() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.depth_max() returns integer
language sql immutable parallel safe
as $$ select 32::integer $$;

create or replace function kinfolk.made_max() returns integer
language sql immutable parallel safe
as $$ select 100000::integer $$;

create or replace function kinfolk.status_commands_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.label_path_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 256::integer $$;

create or replace function kinfolk.function_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 256::integer $$;

create or replace function kinfolk.steps_max() returns integer
language sql immutable parallel safe
as $$ select 10000::integer $$;

create or replace function kinfolk.record_batch_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.inline_results_max() returns integer
language sql immutable parallel safe
as $$ select 32::integer $$;

create or replace function kinfolk.signals_kept_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.signals_awaited_max() returns integer
language sql immutable parallel safe
as $$ select 100::integer $$;

create or replace function kinfolk.groups_max() returns integer
language sql immutable parallel safe
as $$ select 16::integer $$;

create or replace function kinfolk.group_key_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 200::integer $$;

create or replace function kinfolk.group_limit_max() returns integer
language sql immutable parallel safe
as $$ select 1000000::integer $$;

create or replace function kinfolk.rate_max() returns integer
language sql immutable parallel safe
as $$ select 1000000::integer $$;

create or replace function kinfolk.rate_span_max_us() returns bigint
language sql immutable parallel safe
as $$ select 2678400000000::bigint $$;

create or replace function kinfolk.failed_tries_max() returns integer
language sql immutable parallel safe
as $$ select 16::integer $$;

create or replace function kinfolk.holders_shown_max() returns integer
language sql immutable parallel safe
as $$ select 20::integer $$;

create or replace function kinfolk.audit_kept_us() returns bigint
language sql immutable parallel safe
as $$ select 7776000000000::bigint $$;

create or replace function kinfolk.errors_kept_us() returns bigint
language sql immutable parallel safe
as $$ select 7776000000000::bigint $$;

create or replace function kinfolk.minutes_kept_us() returns bigint
language sql immutable parallel safe
as $$ select 21600000000::bigint $$;

create or replace function kinfolk.minute_records_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;

create or replace function kinfolk.progress_note_bytes_max() returns integer
language sql immutable parallel safe
as $$ select 1000::integer $$;
