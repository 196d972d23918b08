-- Refuses a whole call if no store would keep one of its checkpoints.
create or replace function kinfolk.require_checkpoints(p_steps kinfolk.checkpoints) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_many integer := cardinality(p_steps.names);
    v_name integer := kinfolk.name_bytes_max();
    v_result bigint := kinfolk.result_bytes_max();
    v_bytes bigint;
begin
    if not (kinfolk.is_full(p_steps.names, v_many) and kinfolk.is_full(p_steps.branches, v_many)
        and kinfolk.is_full(p_steps.occurrences, v_many) and kinfolk.is_full(p_steps.kinds, v_many)
        and kinfolk.is_full(p_steps.digests, v_many) and kinfolk.is_full(p_steps.values, v_many))
    then
        raise exception using errcode = 'KF001',
            message = 'what checkpoints are given as arrays must be as many, and all there',
            hint = 'give branches, names, occurrences, kinds, digests and values of each, and no null; a branch or digest may be empty';
    end if;
    if exists (
        select
        from unnest(p_steps.branches, p_steps.names, p_steps.occurrences, p_steps.kinds, p_steps.digests)
            as g(branch, name, occurrence, kind, digest)
        where octet_length(g.branch) > v_name
            or octet_length(g.name) not between 1 and v_name
            or octet_length(g.digest) > v_name
            or g.occurrence < 0
            or g.kind not in ('step', 'make', 'fan_out', 'fold', 'sleep', 'wait', 'signal', 'now', 'random'))
    then
        raise exception using errcode = 'KF001',
            message = 'a checkpoint has a name that is empty or too long, or a kind that is not known',
            hint = format('names have at most %s bytes; kinds are step, make, fan_out, fold, sleep, wait, signal, now and random', v_name);
    end if;
    select kinfolk.json_bytes(v)
    into v_bytes
    from unnest(p_steps.values) v
    where pg_column_size(v) * 8::bigint > v_result
        and kinfolk.json_longer_than(v, v_result)
    limit 1;
    if found then
        raise exception using errcode = 'KF006',
            message = format('the recorded value is %s bytes, more than %s', v_bytes, v_result),
            hint = 'keep the data elsewhere and record a reference', detail = v_bytes::text;
    end if;
end
$$;
