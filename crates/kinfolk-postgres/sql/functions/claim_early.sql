-- A claim that takes tasks before it asks their groups: `p_early` of `claim`. Claims of one group go one after another, from its
-- admission lock to the commit; so what is done before that lock is done by several of them at once. It is the way of a
-- command whose groups have nothing but a limit for all keys alike, while no key that it waits behind is marked, and of tasks that
-- have not run before; everything else goes by `pick_keyed`. Whoever waits behind a key without a mark waits because it is full, and
-- so has no need to be asked.
--
-- The rows of the tasks are had before the lock, which nobody else does. It holds nobody up: who has the lock waits for no open
-- task.

-- The groups of these commands, which of the commands have some and which have a total; null where they are not as said above.
-- Without the admission locks it is a guess. Reads the head of the queue's marks.
create or replace function kinfolk.calm_groups(
    p_queue integer, p_commands text[], out groups integer[], out grouped integer[], out total integer[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    select d.groups, d.grouped, d.total into groups, grouped, total from kinfolk.declared_by(p_commands) d;
    if exists (select from kinfolk.declarations(grouped) d where not d.is_plain)
        or exists (select from kinfolk.ready_key r where r.queue_id = p_queue and r.command_id = any (grouped))
    then
        groups := null;
    end if;
end
$$;

-- The first open tasks of a command in the lane `top`, with their keys, and locks them, passing over what others have. `is_odd`:
-- some of them have run before, or hold a unique key. Reads `task_ready`.
create or replace function kinfolk.pick_early(
    p_queue integer, p_command integer, p_limit integer, out ids bigint[], out keys jsonb[], out is_odd boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    with line as materialized (
        select t.id, t.keys, t.runs > 0 or t.unique_held or t.bounces > 0 as is_odd
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.lane = 'top'
            and t.command_id = p_command
            and t.state = 'pending'
            and t.gate = 'open'
            and not t.suspect
        order by t.priority, t.place, t.id
        limit p_limit
        for update skip locked
    )
    select coalesce(array_agg(l.id), '{}'), array_agg(l.keys), coalesce(bool_or(l.is_odd), false)
    into ids, keys, is_odd
    from line l;
end
$$;

-- Takes the slots of tasks that the caller has set running as of `p_now`, under the admission locks of their groups. Those for
-- which a key has no room become what they were before, and are answered; so do all where it is not as said
-- above after all. Null: there were none. What others have freed since `p_now` is had only where it is needed, and whoever has it
-- starts as of then: by the book they would have run side by side.
create or replace function kinfolk.admit_taken(
    p_queue integer, p_commands text[], p_groups integer[], p_tasks bigint[], p_keys jsonb[], p_now timestamptz
) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_need record;
    v_tight bigint[];
    v_undone bigint[];
begin
    select array_agg(d.group_id) as groups, array_agg(coalesce(g.keys ->> d.name, '')) as keys, array_agg(g.id) as tasks
    into v_need
    from (
        select cg.group_id, cg.name
        from kinfolk.command_group cg
        where cg.command_id = (select c.id from kinfolk.command c where c.name = p_commands[1])
    ) d
    cross join unnest(p_tasks, p_keys) as g(id, keys)
    where d.name = 'total'
        or g.keys ? d.name;
    -- Nobody who has these locks waits for the tasks.
    if not kinfolk.try_lock_groups(p_groups) and not kinfolk.wait_for_groups(p_groups) then
        v_undone := p_tasks;
    else
        perform kinfolk.mark_keys(0, p_groups, p_now, p_now);
        if (select c.groups from kinfolk.calm_groups(p_queue, p_commands) c) is distinct from p_groups then
            v_undone := p_tasks;
        elsif v_need.groups is not null then
            v_tight := (select s.overfull from kinfolk.take_slots(v_need.groups, v_need.keys, v_need.tasks, true) s);
        end if;
    end if;
    if v_tight <> '{}' then
        perform kinfolk.mark_keys(0, p_groups, p_now);
        if (select c.groups from kinfolk.calm_groups(p_queue, p_commands) c) is distinct from p_groups then
            v_undone := p_tasks;
        else
            v_undone := kinfolk.take_as_of_now(v_need.groups, v_need.keys, v_need.tasks, v_tight);
        end if;
    end if;
    if v_undone is not null then
        perform kinfolk.put_back(v_undone);
    end if;
    return v_undone;
end
$$;

-- Takes the slots of tasks as far as there is room, and answers those for which there is none; null where there is room for all. Those
-- that need a key of `p_tight`, by its number, start now.
create or replace function kinfolk.take_as_of_now(
    p_groups integer[], p_keys text[], p_tasks bigint[], p_tight bigint[], out undone bigint[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_full record;
begin
    select s.overfull as keys, s.rooms into v_full from kinfolk.take_slots(p_groups, p_keys, p_tasks, true) s;
    if v_full.keys <> '{}' then
        select f.groups, f.keys, f.tasks, f.undone
        into p_groups, p_keys, p_tasks, undone
        from kinfolk.fit_in(p_groups, p_keys, p_tasks, v_full.keys, v_full.rooms) f;
        perform kinfolk.take_slots(p_groups, p_keys, p_tasks, false);
    end if;
    update kinfolk.task t
    set started_at = kinfolk.clock()
    where t.id = any (kinfolk.who_needs(p_groups, p_keys, p_tasks, p_tight));
end
$$;

-- What tasks need, in the order in which they are to start, without those for which there is no room; and these. `p_overfull`,
-- `p_rooms`: the keys that have less room than is asked for, as from `take_slots`. One that does not fit in because of one key is counted
-- at the others all the same: too few may start, never too many.
create or replace function kinfolk.fit_in(
    p_groups integer[], p_keys text[], p_tasks bigint[], p_overfull bigint[], p_rooms bigint[],
    out groups integer[], out keys text[], out tasks bigint[], out undone bigint[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
begin
    with need as materialized (
        select n.group_id, n.key, n.task_id, n.nth
        from unnest(p_groups, p_keys, p_tasks) with ordinality as n(group_id, key, task_id, nth)
    ),
    placed as (
        select n.task_id, f.room, row_number() over (partition by f.key order by n.nth) as place
        from need n
        join unnest(p_overfull, p_rooms) as f(key, room) on f.key = kinfolk.key_number(n.group_id, n.key)
    ),
    left_over as materialized (
        select distinct p.task_id
        from placed p
        where p.place > p.room
    )
    select array_agg(n.group_id), array_agg(n.key), array_agg(n.task_id), array(select l.task_id from left_over l)
    into groups, keys, tasks, undone
    from need n
    where not exists (select from left_over l where l.task_id = n.task_id);
end
$$;

-- The tasks that need one of these keys, by their numbers.
create or replace function kinfolk.who_needs(p_groups integer[], p_keys text[], p_tasks bigint[], p_numbers bigint[])
returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
begin
    return array(
        select distinct n.task_id
        from unnest(p_groups, p_keys, p_tasks) as n(group_id, key, task_id)
        join unnest(p_numbers) as k(number) on k.number = kinfolk.key_number(n.group_id, n.key));
end
$$;

-- Makes tasks that had never run, and that this transaction has set running, what they were before.
create or replace function kinfolk.put_back(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    update kinfolk.task t
    set
        state = 'pending',
        gate = 'open',
        attempt = t.attempt - 1,
        runs = 0,
        started_at = null,
        worker_id = null,
        token = null,
        keyed = false
    where t.id = any (p_tasks);
end
$$;
