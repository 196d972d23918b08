-- Frees the slots of tasks that the caller has locked and moved, except in groups with `hold`, where a task keeps its slot
-- until it is terminal. A settle never takes a group's admission lock. This function appends the freed (task, key) pairs to
-- `freed`. The next claim that holds the lock removes those holders and looks at their keys again (`take_freed`,
-- `add_ready_keys`). Wakes the queues on which a task waits for one of these keys. Only for tasks with `holds_slots`; for
-- any other task a hint would mean nothing. `p_over`: whether each task is terminal (null: all are).
--
-- Locks nothing. Reads `task_blocked`.
create or replace function kinfolk.free_slots(
    p_tasks bigint[], p_commands integer[], p_keys jsonb[], p_over boolean[]
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
    v_freed record;
    v_awaited integer[];
begin
    with declared as materialized (
        select d.* from kinfolk.declarations(p_commands) d
    ),
    -- In parts that fit a page of the table: larger values would be compressed, or stored elsewhere.
    freed_now as (
        insert into kinfolk.freed (group_id, keys, tasks)
        select d.group_id, array_agg(coalesce(g.keys ->> d.name, '')), array_agg(g.id)
        from unnest(p_tasks, p_commands, p_keys, p_over) with ordinality as g(id, command_id, keys, is_over, nth)
        join declared d on d.command_id = g.command_id
        where (d.name = 'total' or g.keys ? d.name)
            and (coalesce(g.is_over, true) or not d.hold)
        group by d.group_id, g.nth / 128
        returning group_id, id
    )
    select array_agg(n.group_id) as groups, array_agg(n.id) as ids into v_freed from freed_now n;
    -- point: slots.released
    v_awaited := kinfolk.awaited_groups(v_freed.groups);
    if v_awaited <> '{}' then
        perform kinfolk.notify_queues(array_agg(distinct w.queue_id), false)
        from unnest(v_freed.groups, v_freed.ids) as n(group_id, id)
        join kinfolk.freed f on f.group_id = n.group_id and f.id = n.id
        cross join lateral (select distinct u as key from unnest(f.keys) u) k
        cross join lateral (
            select t.queue_id
            from kinfolk.task t
            where t.blocked_group = n.group_id
                and t.blocked_key = k.key
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key, t.queue_id
            limit 1
        ) first
        cross join lateral kinfolk.waiting_lines(n.group_id, k.key) w
        where n.group_id = any (v_awaited);
    end if;
end
$$;
