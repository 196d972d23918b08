-- Lets the open tasks of these commands take turns by their values of the fair key, suspects too: their gate becomes `turn`. This is
-- the first step of a claim on a queue with a fair key (`pick_turns`). Answers whether there may be more of them.
--
-- Reads `task_ready` and `task_suspect`, in a step each: no row of `any_open` can be locked. Skips rows that another call has locked.
create or replace function kinfolk.sort_in(p_queue integer, p_commands text[], p_fair text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most integer := 20 * kinfolk.claim_batch_max();
    v_many integer;
begin
    with arrived as materialized (
        select t.id
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            select t.id
            from kinfolk.open_task t
            where t.queue_id = p_queue
                and t.lane = l.lane
                and t.command_id = c.id
            order by t.priority, t.position, t.id
            limit v_most
            for update skip locked
        ) t
        where c.name = any (p_commands)
        limit v_most
    ),
    suspected as materialized (
        select t.id
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            select t.id
            from kinfolk.open_suspect t
            where t.queue_id = p_queue
                and t.lane = l.lane
                and t.command_id = c.id
            order by t.priority, t.position, t.id
            limit v_most
            for update skip locked
        ) t
        where c.name = any (p_commands)
        limit v_most
    )
    update kinfolk.task t
    set
        gate = 'turn',
        fair_value = coalesce(t.keys ->> p_fair, '')
    from (select a.id from arrived a union all select s.id from suspected s) a
    where t.id = a.id;
    get diagnostics v_many = row_count;
    return v_many >= v_most;
end
$$;
