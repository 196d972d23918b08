-- Refuses a whole settle call if any of its items is one that no store would keep.

create or replace function kinfolk.require_settles(
    p_ids bigint[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_failures jsonb[], p_delays_us bigint[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_result bigint := kinfolk.result_bytes_max();
    v_delay bigint := kinfolk.delay_max_us();
    v_bytes bigint;
    v_bad text;
begin
    if cardinality(p_ids) > kinfolk.settle_batch_max() then
        perform kinfolk.refuse('KF001', format('%s settles in one call', cardinality(p_ids)),
            format('send at most %s at once', kinfolk.settle_batch_max()));
    end if;
    if cardinality(p_tokens) is distinct from cardinality(p_ids)
        or cardinality(p_outcomes) is distinct from cardinality(p_ids)
    then
        perform kinfolk.refuse('KF001', 'numbers, tokens and outcomes must be as many');
    end if;
    -- Most calls bring nothing but completions, without results.
    if 'done' = all (p_outcomes) and cardinality(p_results) + cardinality(p_delays_us) = 0 then
        return;
    end if;
    select o
    into v_bad
    from unnest(p_outcomes) o
    where o not in ('done', 'failed', 'never', 'snooze', 'yield', 'release', 'cancelled')
    limit 1;
    if found then
        perform kinfolk.refuse('KF001', format('unknown outcome %L', v_bad),
            'there are: done, failed, never, snooze, yield, release, cancelled');
    end if;
    select kinfolk.json_bytes(r)
    into v_bytes
    from unnest(p_results) r
    where pg_column_size(r) * 8::bigint > v_result
        and kinfolk.json_longer_than(r, v_result)
    limit 1;
    if found then
        perform kinfolk.refuse('KF006', format('the result is %s bytes, more than %s', v_bytes, v_result),
            'keep the data elsewhere and answer with a reference', v_bytes::text);
    end if;
    if 'done' <> any (p_outcomes) and exists (
        select
        from unnest(p_outcomes, p_failures) as g(outcome, failure)
        where g.outcome in ('failed', 'never')
            and not coalesce(
                g.failure ->> 'kind' in ('error', 'timeout', 'panic', 'validation', 'poison', 'lost', 'cancelled',
                    'children', 'refused', 'skipped', 'diverged')
                and jsonb_typeof(g.failure -> 'message') = 'string'
                and octet_length(g.failure ->> 'message') <= kinfolk.error_bytes_max(), false))
    then
        perform kinfolk.refuse('KF001', 'a failure must be an object with a known kind and a message',
            format('such as {"kind": "error", "message": "..."}, of at most %s bytes', kinfolk.error_bytes_max()));
    end if;
    if exists (select from unnest(p_delays_us) d where d not between 0 and v_delay) then
        perform kinfolk.refuse('KF001', 'a delay is out of range', 'it must be within ten years from now on');
    end if;
end
$$;
