-- Adds new ends to the fan-outs of this depth, and returns what follows from the new counts. Locks the fan-outs by number. Runs under
-- the settings of `ended`.
create or replace function kinfolk.count_ends(p_ends kinfolk.new_ends, p_depth smallint) returns kinfolk.counted_fan_outs
language plpgsql volatile
as $$
declare
    v_counted kinfolk.counted_fan_outs;
begin
    -- point: ended.counting
    with counted as (
        update kinfolk.fan_out f
        set
            -- Not by a join: one of hundreds of fan-outs with an array of as many is planned as if there were one.
            completed = f.completed + p_ends.completed[array_position(p_ends.ids, f.id)],
            failed = f.failed + p_ends.failed[array_position(p_ends.ids, f.id)],
            cancelled = f.cancelled + p_ends.cancelled[array_position(p_ends.ids, f.id)],
            held = f.held - p_ends.held[array_position(p_ends.ids, f.id)]
        where f.id = any (p_ends.ids)
            and f.depth = p_depth
        returning f.id, f.task_id, f.waits, f.held, f.total - f.completed - f.failed - f.cancelled as open,
            f.child_order = 'in_order_until_failure' and p_ends.failed[array_position(p_ends.ids, f.id)] > 0 as is_over,
            f.rule is not null as is_awaited,
            case
                when f.verdict is null
                then kinfolk.verdict_of(f.rule, f.parts, f.total, f.completed, f.failed, f.cancelled)
            end as verdict,
            f.wake_at is not null and (f.verdict is not null or f.completed + f.failed + f.cancelled >= f.wake_at)
                as is_awake,
            f.wake_at
    )
    select array_agg(c.id order by c.id) filter (where c.held > 0 and c.is_over),
        array_agg(c.id order by c.id) filter (where c.held > 0 and not c.is_over and c.open = c.held),
        bool_or(c.is_awaited),
        array_agg(c.id) filter (where c.verdict is not null),
        array_agg(c.verdict) filter (where c.verdict is not null),
        array_agg(c.task_id) filter (where (c.waits and c.open = 0) or c.is_awake
            or (c.verdict is not null and c.wake_at is not null))
    into v_counted
    from counted c;
    -- point: ended.counted
    return v_counted;
end
$$;
