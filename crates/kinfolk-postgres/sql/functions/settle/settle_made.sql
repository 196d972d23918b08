-- Records that an attempt was done and what it made, given as one array a property: see `settle_given`, which does it.

create or replace function kinfolk.settle_made(
    p_task bigint, p_token uuid, p_result jsonb, p_order text, p_kinds text[], p_commands text[], p_payloads jsonb[],
    p_queues text[] default '{}', p_priorities integer[] default '{}', p_dues timestamptz[] default '{}',
    p_delays_us bigint[] default '{}', p_keys text[] default '{}', p_scopes text[] default '{}', p_windows_us bigint[] default '{}',
    p_on_duplicates text[] default '{}', p_max_attempts integer[] default '{}', p_timeouts_us bigint[] default '{}',
    p_traces text[] default '{}', p_whens text[] default '{}', p_ids bigint[] default '{}', p_slot_keys jsonb[] default '{}',
    p_inherits boolean[] default '{}'
) returns table (answer text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select s.answer, s.state
    from kinfolk.settle_given(p_task, p_token, p_result, p_order, row(p_kinds, p_ids, p_commands, p_payloads, p_queues, p_priorities,
        p_dues, p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens,
        p_slot_keys, p_inherits)::kinfolk.given_tasks) s;
end
$$;
