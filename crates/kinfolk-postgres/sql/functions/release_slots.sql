-- Frees the slots of tasks, which the caller has locked and moved, except for those that a task keeps until it is
-- terminal (`hold`). Leaves notes: the next claim that has the admission lock of a group takes them, and looks who waits
-- behind those keys. Wakes the queues on which someone waits now. Only for tasks that are `keyed`: of a group that a task holds
-- no slot of, a note says nothing.
--
-- Locks nothing. Reads `task_parked`.

create or replace function kinfolk.release_slots(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.free_slots(array_agg(t.id), array_agg(t.command_id), array_agg(t.keys),
        array_agg(t.state >= 'completed'))
    from unnest(p_tasks) as g(id)
    cross join lateral (
        select t.id, t.command_id, t.keys, t.state
        from kinfolk.task t
        where t.id = g.id
        offset 0
    ) t;
end
$$;

-- The same for a caller that knows the tasks' commands and keys, and whether each is over (where that is null, all are).
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
    v_noted record;
    v_awaited integer[];
begin
    with declared as materialized (
        select d.* from kinfolk.declarations(p_commands) d
    ),
    -- In parts that fit a page of the table: larger values would be compressed, or stored elsewhere.
    noted as (
        insert into kinfolk.freed (group_id, keys, tasks)
        select d.group_id, array_agg(coalesce(g.keys ->> d.name, '')), array_agg(g.id)
        from unnest(p_tasks, p_commands, p_keys, p_over) with ordinality as g(id, command_id, keys, is_over, nth)
        join declared d on d.command_id = g.command_id
        where (d.name = 'total' or g.keys ? d.name)
            and (coalesce(g.is_over, true) or not d.hold)
        group by d.group_id, g.nth / 128
        returning group_id, id
    )
    select array_agg(n.group_id) as groups, array_agg(n.id) as ids into v_noted from noted n;
    -- point: slots.released
    v_awaited := kinfolk.awaited_groups(v_noted.groups);
    if v_awaited <> '{}' then
        perform kinfolk.notify_queues(array_agg(distinct w.queue_id), false)
        from unnest(v_noted.groups, v_noted.ids) as n(group_id, id)
        join kinfolk.freed f on f.group_id = n.group_id and f.id = n.id
        cross join lateral (select distinct u as key from unnest(f.keys) u) k
        cross join lateral (
            select t.queue_id
            from kinfolk.task t
            where t.parked_group = n.group_id
                and t.parked_key = k.key
                and t.gate = 'limit'
            order by t.parked_group, t.parked_key, t.queue_id
            limit 1
        ) first
        cross join lateral kinfolk.waiting_lines(n.group_id, k.key) w
        where n.group_id = any (v_awaited);
    end if;
end
$$;

-- Those of these groups of which some key is waited for. Reads the heads of their parts of `task_parked`.
create or replace function kinfolk.awaited_groups(p_groups integer[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select g.id
        from (select distinct u as id from unnest(p_groups) u) g
        cross join lateral (
            select
            from kinfolk.task t
            where t.parked_group = g.id
                and t.gate = 'limit'
            -- Said so that no other index on the gate is thought of.
            order by t.parked_group, t.parked_key
            limit 1
        ) w);
end
$$;

-- On which queues tasks of which commands wait behind a key. Steps through `task_parked` from one line to the next,
-- however many wait in each.
create or replace function kinfolk.waiting_lines(p_group integer, p_key text)
returns table (queue_id integer, command_id integer)
language sql stable
as $$
    with recursive line as (
        (
            select t.queue_id, t.command_id
            from kinfolk.task t
            where t.parked_group = p_group
                and t.parked_key = p_key
                and t.gate = 'limit'
            order by t.parked_group, t.parked_key, t.queue_id, t.command_id
            limit 1
        )
        union all
        select n.queue_id, n.command_id
        from line l
        cross join lateral (
            select t.queue_id, t.command_id
            from kinfolk.task t
            where t.parked_group = p_group
                and t.parked_key = p_key
                and t.gate = 'limit'
                and (t.queue_id, t.command_id) > (l.queue_id, l.command_id)
            order by t.parked_group, t.parked_key, t.queue_id, t.command_id
            limit 1
        ) n
    )
    select l.queue_id, l.command_id from line l
$$;

-- Gives back the slots that a claim has taken for tasks that it does not start after all: they were folded into others.
-- What they held before stays.
create or replace function kinfolk.drop_slots(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.note_freed(array_agg(cg.group_id), array_agg(coalesce(t.keys ->> cg.name, '')), array_agg(t.id))
    from unnest(p_tasks) as g(id)
    join kinfolk.task t on t.id = g.id
    join kinfolk.command_group cg on cg.command_id = t.command_id
    where t.runs = 0
        and (cg.name = 'total' or t.keys ? cg.name);
end
$$;

-- Keeps no more room for tasks that will not start: what was kept for them is noted as free.
create or replace function kinfolk.drop_reservations(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (select from kinfolk.reserved r where r.task_id = any (p_tasks)) then
        return;
    end if;
    with gone as (
        delete from kinfolk.reserved r
        where r.task_id = any (p_tasks)
        returning r.group_id, r.key
    )
    insert into kinfolk.freed (group_id, keys, tasks)
    select g.group_id, array[g.key], '{}'
    from gone g;
end
$$;
