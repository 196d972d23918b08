-- The invariants of groups, and of tasks that wait behind keys.
create or replace function kinfolk.check_groups() returns table (invariant text, detail text, task bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select 'a command is known to have groups if it has some', c.name, null::bigint
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
    where t.blocked_group > 0
        and (t.state <> 'pending' or t.gate <> 'limit' or not exists (
            select
            from kinfolk.command_group cg
            where cg.command_id = t.command_id
                and cg.group_id = t.blocked_group))
    union all
    select 'a task that waits for its turn is on a queue where tasks do', coalesce(t.gate::text, t.state::text), t.id
    from kinfolk.task t
    join kinfolk.queue q on q.id = t.queue_id
    where t.blocked_group < 0
        and (t.gate is distinct from 'limit' or t.blocked_group <> -q.id or q.fair is null)
    union all
    select 'no key has room and someone who waits, unless there is a hint of that or the key is ready',
        format('group %s, key %s', l.group_id, l.key), null
    from kinfolk.lost_keys() l
    union all
    select 'room is kept for a task that pends', format('group %s, key %s', r.group_id, r.key), r.task_id
    from kinfolk.reserved r
    left join kinfolk.task t on t.id = r.task_id
    where t.state is distinct from 'pending'
$$;
