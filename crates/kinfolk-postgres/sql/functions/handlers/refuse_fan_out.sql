-- Raises that a fan-out did not end as its rule demands (KF025), in the words that a handler in Rust has for it. A sub-task that had not
-- ended when the time was up counts as one that did not complete. The detail is an object: what a failed task keeps of it, and the
-- `kind` of that failure. A task that ends so is not tried again: its sub-tasks have had their attempts.

create or replace function kinfolk.refuse_fan_out(p_fan_out bigint) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fan_out record;
    v_bad record;
    v_failed bigint;
begin
    select f.id, f.rule, f.parts, f.total, f.verdict into v_fan_out from kinfolk.fan_out f where f.id = p_fan_out;
    select count(*) filter (where r.is_bad) as many, array_agg(r.told #>> '{failure,kind}') filter (where r.is_bad) as kinds,
        count(*) filter (where not r.is_bad) as completed,
        coalesce(jsonb_agg(r.told - 'state' - 'result' order by r.position) filter (where r.is_bad and r.position <= 20), '[]')
            as failures,
        coalesce(string_agg(format('%s (%s of sub-task %s, task %s, attempt %s); ', r.told #>> '{failure,message}',
            r.told #>> '{failure,kind}', r.told ->> 'index', r.told ->> 'task', r.told ->> 'attempt'), ''
            order by r.position) filter (where r.is_bad and r.position <= 3), '') as words
    into v_bad
    from (
        select s.told, s.is_bad, row_number() over (partition by s.is_bad order by s.nth) as position
        from (
            select r.told, r.told ->> 'state' <> 'completed' as is_bad, r.nth
            from jsonb_array_elements(kinfolk.sub_results(p_fan_out)) with ordinality as r(told, nth)
        ) s
    ) r;
    v_failed := case when v_fan_out.verdict = 'timed_out' then v_fan_out.total - v_bad.completed else v_bad.many end;
    raise exception using
        errcode = 'KF025',
        message = concat(
            case
                when v_fan_out.verdict = 'timed_out'
                then format('fan-out %s of %s sub-tasks took longer than it may; ', v_fan_out.id, v_fan_out.total)
            end,
            v_bad.words,
            case when v_bad.many > 3 then format('and %s more; ', v_bad.many - 3) end,
            format('%s of %s sub-tasks of fan-out %s (%s) did not complete', v_failed, v_fan_out.total, v_fan_out.id, v_fan_out.rule)),
        detail = jsonb_build_object(
            'kind', kinfolk.kind_of_fan_out(v_fan_out.verdict, v_bad.kinds),
            'fan_out', v_fan_out.id,
            'rule', case when v_fan_out.parts is null then to_jsonb(v_fan_out.rule) else jsonb_build_object('threshold', v_fan_out.parts) end,
            'verdict', v_fan_out.verdict, 'total', v_fan_out.total, 'failed', v_failed, 'failures', v_bad.failures)::text;
end
$$;
