-- Takes the admission locks of everything that a registration with these groups may change, before any row; none where it
-- changes nothing. Returns the commands to declare anew, in their order.
--
-- Where groups come, go or change `hold`, running tasks are counted anew (`count_running`), and no task may start or end
-- meanwhile. No task starts: a claim of a command with groups has the locks of all its groups until it commits. A claim of a
-- command without groups has only the shared lock of its queue. So where a command gets its first groups, the queues are
-- locked exclusively, and waiting workers are woken. No task ends: see `lock_tasks_using`.
create or replace function kinfolk.lock_declarations(p_names text[], p_groups jsonb[]) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_changed integer[];
    v_is_moved boolean;
    v_groups integer[];
    v_queues integer[];
begin
    if cardinality(p_groups) = 0 or not exists (select from unnest(p_groups) g where g is not null) then
        return '{}';
    end if;
    perform kinfolk.require_groups(g) from unnest(p_groups) g where g is not null;
    if kinfolk.changed_declarations(p_names, p_groups) = '{}' then
        return '{}';
    end if;
    perform kinfolk.lock_groups('{0}');
    -- As it is with that lock in hand: nobody else declares or removes a group now.
    v_changed := kinfolk.changed_declarations(p_names, p_groups);
    v_is_moved := exists (
        select
        from unnest(v_changed) n
        left join kinfolk.command c on c.name = p_names[n]
        where kinfolk.shape_of(p_groups[n]) <> kinfolk.shape_of(coalesce(kinfolk.declared_groups(c.id), '{}')));
    if v_is_moved and exists (
        select
        from unnest(v_changed) n
        join kinfolk.command c on c.name = p_names[n]
        where not c.grouped)
    then
        v_queues := array(select q.id from kinfolk.queue q order by q.id);
        perform pg_advisory_xact_lock(1263160902, q) from unnest(v_queues) q;
        perform kinfolk.notify_queues(v_queues, false);
    end if;
    v_groups := array(
        select cg.group_id
        from kinfolk.command c
        join kinfolk.command_group cg on cg.command_id = c.id
        where c.name = any (p_names)
        union
        select g.id
        from unnest(p_groups) as d(groups)
        cross join lateral jsonb_object_keys(d.groups) as k(name)
        join kinfolk.slot_group g on g.name = k.name and g.command_id is null);
    perform kinfolk.lock_groups(v_groups);
    if v_is_moved then
        perform kinfolk.lock_tasks_using(p_names, v_groups);
    end if;
    -- point: declare_groups.locked
    return v_changed;
end
$$;
