-- The invariants of groups: see `check_invariants`.

create or replace function kinfolk.check_slots() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with holder as materialized (
        select s.group_id, s.page, h.key, h.task_id
        from kinfolk.slot_holder s
        cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
        where not exists (
            select
            from kinfolk.freed f
            where f.group_id = s.group_id
                and h.task_id = any (f.tasks))
    )
    select 'a slot is held by a task that runs, or has started and is not over where the group holds it',
        format('group %s, key %s', coalesce(g.name, s.group_id::text), s.key), s.task_id
    from holder s
    left join kinfolk.slot_group g on g.id = s.group_id
    left join kinfolk.task t on t.id = s.task_id
    where g.id is null
        or coalesce(not (t.holds_slots and (t.state = 'running' or (g.hold and t.state < 'completed' and t.runs > 0))), true)
    union all
    select 'a slot is of a group that its task''s command declares, and of the key that it gives',
        format('group %s, key %s', s.group_id, s.key), s.task_id
    from holder s
    join kinfolk.task t on t.id = s.task_id
    where not exists (
        select
        from kinfolk.command_group cg
        where cg.command_id = t.command_id
            and cg.group_id = s.group_id
            and s.key = case when cg.name = 'total' then '' else t.keys ->> cg.name end)
    union all
    select 'a task holds one slot of a group at most', format('group %s', s.group_id), s.task_id
    from holder s
    group by s.group_id, s.task_id
    having count(*) > 1
    union all
    select 'a task that runs holds a slot of each of its keys, unless one above it does for the family',
        format('group %s, key %s', n.name, n.key), n.id
    from (
        select t.id, t.parent_id, g.id as group_id, g.name, g.hold,
            case when cg.name = 'total' then '' else t.keys ->> cg.name end as key
        from kinfolk.task t
        join kinfolk.command_group cg on cg.command_id = t.command_id
        join kinfolk.slot_group g on g.id = cg.group_id
        where t.state = 'running'
    ) n
    where n.key is not null
        and not exists (
            select
            from holder s
            where s.group_id = n.group_id
                and s.task_id = n.id)
        and not (n.hold and n.parent_id is not null and kinfolk.family_holds_slot(n.parent_id, n.group_id, n.key))
    union all
    select 'the holders of a key stand on its pages', format('group %s, key %s', s.group_id, s.key), s.task_id
    from holder s
    join kinfolk.slot_group g on g.id = s.group_id
    where s.page <> kinfolk.slot_page(s.key, s.task_id, g.first_page, g.pages, g.spread)
    union all
    select 'a command is known to have groups if it has some', c.name, null
    from kinfolk.command c
    where c.grouped <> exists (select from kinfolk.command_group cg where cg.command_id = c.id)
    union all
    select 'every group is declared by a command, and every declaration is of a group',
        format('group %s', coalesce(g.id, cg.group_id)), null
    from kinfolk.slot_group g
    full join kinfolk.command_group cg on cg.group_id = g.id
    where g.id is null
        or cg.group_id is null
    union all
    select 'a task behind a key pends, and its command declares the group', coalesce(t.gate::text, t.state::text), t.id
    from kinfolk.task t
    where (t.gate = 'limit' or t.blocked_group is not null)
        and (t.state <> 'pending' or t.gate is distinct from 'limit' or not exists (
            select
            from kinfolk.command_group cg
            where cg.command_id = t.command_id
                and cg.group_id = t.blocked_group))
    union all
    select 'a task that waits for its turn is on a queue where tasks do', coalesce(t.gate::text, t.state::text), t.id
    from kinfolk.task t
    join kinfolk.queue q on q.id = t.queue_id
    where t.gate = 'turn'
        and coalesce(t.fair_value <> coalesce(t.keys ->> q.fair, ''), true)
    union all
    select 'no key has room and a task that waits for it, unless there is a hint of that or the key is ready',
        format('group %s, key %s', l.group_id, l.key), null
    from kinfolk.lost_keys() l
    union all
    select 'room is kept for a task that pends', format('group %s, key %s', r.group_id, r.key), r.task_id
    from kinfolk.reserved r
    left join kinfolk.task t on t.id = r.task_id
    where t.state is distinct from 'pending'
$$;
