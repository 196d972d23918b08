-- The tasks that `revive` sets going again: the task, and all below it that failed or was cancelled. `joins`: its own work was
-- done, and it waits for its children. `cut`: the first step that its handler is to forget. `gate`: null for those that wait.
-- `is_lost`: it would wait for nothing, because retention has removed what could run again below it.
-- Locks nothing. Reads `fan_out_task` and `task_fan_out`: each step is a look-up by key.

create or replace function kinfolk.revived_with(p_task bigint, p_first kinfolk.gate, p_rest kinfolk.gate)
returns table (id bigint, queue_id integer, joins boolean, cut integer, gate kinfolk.gate, is_lost boolean)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
    with recursive revived as (
        select t.id, null::bigint as parent_id, t.queue_id, t.fan_out_id, t.nth, j.joins, k.cut, k.fan_outs,
            'together'::kinfolk.child_order as child_order
        from kinfolk.task t
        cross join lateral (select kinfolk.joins_again(t.id, t.state, t.outcome, t.was_suspended) as joins) j
        left join lateral kinfolk.reopening(t.id) k on t.was_suspended and not j.joins
        where t.id = p_task
        union all
        select c.id, r.id, c.queue_id, c.fan_out_id, c.nth, c.joins, k.cut, k.fan_outs, c.child_order
        from revived r
        cross join lateral kinfolk.revivable(r.id, r.fan_outs) c
        left join lateral kinfolk.reopening(c.id) k on c.was_suspended and not c.joins
    )
    select r.id, r.queue_id, r.joins, r.cut,
        case
            when r.joins or r.cut is not null then null
            when r.id = p_task then p_first
            when r.child_order <> 'together' and row_number() over (partition by r.fan_out_id order by r.nth) > 1 then 'after'
            else p_rest
        end::kinfolk.gate,
        (r.joins or r.cut is not null)
            and r.id not in (select p.parent_id from revived p where p.parent_id is not null)
    from revived r
$$;
