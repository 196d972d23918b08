-- Reserves room on all its keys for a task, from the next claim on, unless a group has a reservation of another task that
-- counts now. A reservation that does not count now is removed, in all its groups. A reservation row that another call has
-- locked is about to be removed by it: a later claim reserves then. So it waits for no row. The caller has the admission locks.
create or replace function kinfolk.reserve(p_task bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_groups integer[];
    v_keys text[];
    v_others bigint[];
begin
    select array_agg(cg.group_id), array_agg(coalesce(t.keys ->> cg.name, ''))
    into v_groups, v_keys
    from kinfolk.task t
    join kinfolk.command_group cg on cg.command_id = t.command_id
    where t.id = p_task
        and (cg.name = 'total' or t.keys ? cg.name);
    v_others := array(select distinct r.task_id from kinfolk.reserved r where r.group_id = any (v_groups));
    if exists (select from unnest(v_others) o where o = p_task or kinfolk.keeps_room(o, kinfolk.clock())) then
        return;
    end if;
    with gone as (
        delete from kinfolk.reserved r
        where r.group_id in (
            select o.group_id
            from kinfolk.reserved o
            where o.task_id = any (v_others)
            for update skip locked)
        returning r.group_id, r.key
    )
    insert into kinfolk.freed (group_id, keys, tasks)
    select g.group_id, array[g.key], '{}'
    from gone g;
    -- An insert beside a row that another call is removing would wait for that call.
    if exists (select from kinfolk.reserved r where r.group_id = any (v_groups)) then
        return;
    end if;
    insert into kinfolk.reserved (group_id, key, task_id)
    select n.group_id, n.key, p_task
    from unnest(v_groups, v_keys) as n(group_id, key)
    on conflict do nothing;
end
$$;
