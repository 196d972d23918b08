-- The children of a task that are revived with it: of those it spawned, and of the fan-outs that it awaits again (`p_fan_outs`),
-- all that failed or were cancelled. `joins`: it waits for its own children again.
create or replace function kinfolk.revivable(p_task bigint, p_fan_outs bigint[])
returns table (
    id bigint, queue_id integer, fan_out_id bigint, nth integer, joins boolean, was_suspended boolean,
    child_order kinfolk.child_order
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select c.id, c.queue_id, c.fan_out_id, c.nth, kinfolk.joins_again(c.id, c.state, c.outcome, c.was_suspended), c.was_suspended,
        f.child_order
    from (
        select f.id, f.child_order
        from kinfolk.fan_out f
        where f.task_id = p_task
            and (f.rule is null or f.id = any (p_fan_outs))
        offset 0
    ) f
    cross join lateral (
        select c.id, c.queue_id, c.fan_out_id, c.nth, c.state, c.outcome, c.was_suspended
        from kinfolk.task c
        where c.fan_out_id = f.id
            and c.state in ('failed', 'cancelled')
        offset 0
    ) c
$$;
