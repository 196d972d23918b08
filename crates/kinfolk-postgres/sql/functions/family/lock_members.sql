-- Locks those of these tasks that have not ended, in the order given, and sorts them by what their end takes. A task that pends or is
-- suspended ends at once, unless it has open children. Runs under the settings of `cancel_members`.
create or replace function kinfolk.lock_members(p_ids bigint[]) returns kinfolk.locked_members
language plpgsql volatile
as $$
declare
    v_locked kinfolk.locked_members;
begin
    with locked as materialized (
        select t.*
        from unnest(p_ids) as g(id)
        cross join lateral (
            select t.id, t.state, t.fan_out_id, t.nth, t.gate = 'after' as was_after, t.worker_id, t.was_suspended,
                t.state = 'pending' or (t.state = 'waiting' and t.outcome is null) as is_idle
            from kinfolk.task t
            where t.id = g.id
                and t.state < 'completed'
            for update
        ) t
    ),
    known as (
        select h.*, h.is_idle and not (h.was_suspended and exists (
                select
                from kinfolk.fan_out f
                where f.task_id = h.id
                    and f.completed + f.failed + f.cancelled < f.total)) as is_over
        from locked h
    )
    select count(*)::integer,
        array_agg(k.id) filter (where k.is_over),
        array_agg(k.fan_out_id) filter (where k.is_over and k.fan_out_id is not null),
        array_agg(k.nth) filter (where k.is_over and k.fan_out_id is not null),
        array_agg(k.was_after) filter (where k.is_over and k.fan_out_id is not null),
        array_agg(k.id) filter (where k.state <> 'pending' or not k.is_over),
        array_agg(k.id) filter (where k.is_idle and not k.is_over),
        array_agg(distinct k.worker_id) filter (where k.state = 'running')
    into v_locked
    from known k;
    return v_locked;
end
$$;
