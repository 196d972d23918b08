-- Refuses a suspension if no store would keep its checkpoints, or if its made tasks do not match its fan-outs.

create or replace function kinfolk.require_suspend(
    p_steps kinfolk.checkpoints, p_fans kinfolk.begun_fan_outs, p_made kinfolk.given_tasks
) returns void
language plpgsql
as $$
declare
    v_fans integer := cardinality(p_fans.sizes);
    v_kinds integer := cardinality(p_made.kinds);
    v_made integer := cardinality(p_made.commands);
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform kinfolk.require_read_committed();
    end if;
    if not (kinfolk.is_full(p_made.kinds, v_kinds) and kinfolk.is_full(p_made.commands, v_made)) then
        raise exception using errcode = 'KF001',
            message = 'what a suspension is given as arrays must be as many, and all there';
    elsif v_kinds + (select coalesce(sum(s), 0) from unnest(p_fans.sizes) s) <> v_made then
        raise exception using errcode = 'KF001', message = 'there must be as many tasks as kinds and children of fan-outs';
    elsif cardinality(p_made.keys) > 0 and exists (select from unnest(p_made.keys[v_kinds + 1:]) k where k is not null) then
        raise exception using errcode = 'KF001', message = 'a child whose result is awaited can''t have a unique key';
    elsif cardinality(p_steps.names) > kinfolk.record_batch_max() then
        raise exception using errcode = 'KF001', message = 'too many checkpoints of one attempt in one call',
            hint = format('send at most %s at once', kinfolk.record_batch_max());
    end if;
    if coalesce(cardinality(p_steps.branches) + cardinality(p_steps.names) + cardinality(p_steps.occurrences)
        + cardinality(p_steps.kinds) + cardinality(p_steps.digests) + cardinality(p_steps.values), 1) > 0
    then
        perform kinfolk.require_checkpoints(p_steps);
    end if;
    if v_fans > 0 then
        perform kinfolk.require_checkpoints(row(p_fans.branches, p_fans.names, p_fans.occurrences,
            array_fill('fan_out'::text, array[v_fans]), p_fans.digests, array_fill('0'::jsonb, array[v_fans]))::kinfolk.checkpoints);
    end if;
end
$$;
