-- Refuses a whole settle call if an outcome is unknown, or lacks what it needs, or if a result, a failure or a delay is one that
-- no store would keep.

create or replace function kinfolk.require_outcomes(
    p_outcomes text[], p_results jsonb[], p_failures jsonb[], p_delays_us bigint[]
) returns void
language plpgsql
as $$
declare
    v_result bigint := kinfolk.result_bytes_max();
    v_delay bigint := kinfolk.delay_max_us();
    v_bytes bigint;
    v_bad text;
begin
    select o
    into v_bad
    from unnest(p_outcomes) o
    where o not in ('done', 'failed', 'never', 'snooze', 'yield', 'release', 'cancelled')
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('unknown outcome %L', v_bad),
            hint = 'there are: done, failed, never, snooze, yield, release, cancelled';
    end if;
    select kinfolk.json_bytes(r)
    into v_bytes
    from unnest(p_results) r
    where pg_column_size(r) * 8::bigint > v_result
        and kinfolk.json_longer_than(r, v_result)
    limit 1;
    if found then
        raise exception using errcode = 'KF006', message = format('the result is %s bytes, more than %s', v_bytes, v_result),
            hint = 'keep the data elsewhere and answer with a reference', detail = v_bytes::text;
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
        raise exception using errcode = 'KF001', message = 'a failure must be an object with a known kind and a message',
            hint = format('such as {"kind": "error", "message": "..."}, of at most %s bytes', kinfolk.error_bytes_max());
    end if;
    if p_outcomes && '{snooze,yield}' and exists (
        select
        from unnest(p_outcomes, p_delays_us) as g(outcome, delay_us)
        where g.outcome in ('snooze', 'yield')
            and g.delay_us is null)
    then
        raise exception using errcode = 'KF001', message = 'a snooze or yield has no delay', hint = 'say in p_delays_us how long it is to wait';
    end if;
    if exists (select from unnest(p_delays_us) d where d not between 0 and v_delay) then
        raise exception using errcode = 'KF001', message = 'a delay is out of range',
            hint = 'it must be within ten years from now on';
    end if;
end
$$;
