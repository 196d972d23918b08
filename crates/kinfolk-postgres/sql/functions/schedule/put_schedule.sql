-- Makes or changes a schedule, armed by the caller: see `keep_schedule`, which does it.

create or replace function kinfolk.put_schedule(
    p_name text, p_cron text, p_zone text, p_missed text, p_overlap text, p_paused boolean, p_next_at timestamptz,
    p_command text, p_payload jsonb, p_queue text, p_priority integer, p_due timestamptz, p_delay_us bigint,
    p_unique_key text, p_unique_scope text, p_unique_window_us bigint, p_on_duplicate text, p_max_attempts integer,
    p_timeout_us bigint, p_trace text, p_slot_keys jsonb default null
) returns setof kinfolk.schedule
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_new kinfolk.schedule := row(p_name, p_cron, p_zone, p_missed, p_overlap, p_paused, p_next_at, null, null, p_command, p_payload,
        p_queue, p_priority, p_due, p_delay_us, p_unique_key, p_unique_scope, p_unique_window_us, p_on_duplicate, p_max_attempts,
        p_timeout_us, p_trace, p_slot_keys, null);
begin
    perform kinfolk.require_schedule(v_new);
    return query select s.* from kinfolk.keep_schedule(v_new) s;
end
$$;
