-- The pages of `slot`: who holds slots of which keys. Only who has a group's admission lock reads them to decide, and
-- writes them. Whoever else frees slots leaves a note in `freed`, which the next one with the lock takes. So a holder is
-- who stands on a page and in no note.

-- The page on which a task stands as a holder of a key; with the numbers from 0 below `spread` instead of a task's, those on which
-- all holders of the key stand.
create or replace function kinfolk.slot_page(
    p_key text, p_task bigint, p_first integer, p_pages integer, p_spread integer
) returns integer
language sql immutable
as $$ select p_first + (((hashtext(p_key) & 1073741823) + (p_task & (p_spread - 1))::integer) & (p_pages - 1)) $$;

-- A number for a key of a group. Two keys may have the same one.
create or replace function kinfolk.key_number(p_group integer, p_key text) returns bigint
language sql immutable
as $$ select hashtextextended(p_key, p_group) $$;

-- Writes tasks down as holders of slots, unless some of their keys would have more than there are slots for, and
-- `p_if_room` says so: answers these, by the number that `key_number` gives to a key. The
-- caller has the admission locks, and has taken the notes of these groups since it locked the tasks: an old note would take them
-- off again.
create or replace function kinfolk.take_slots(
    p_groups integer[], p_keys text[], p_tasks bigint[], p_if_room boolean, out overfull bigint[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
declare
    v_full_groups integer[];
begin
    -- A list of its own, so that a group is not looked up for each of its keys.
    with asked as materialized (
        select g.id, coalesce(g.set_slots, g.slots) as slots, g.first_page, g.pages, g.spread
        from kinfolk.slot_group g
        where g.id = any (array(select distinct u from unnest(p_groups) u))
    ),
    page as materialized (
        select g.id as group_id, kinfolk.slot_page(n.key, n.task_id, g.first_page, g.pages, g.spread) as page,
            min(g.slots) as slots, min(g.first_page) as first_page, min(g.pages) as pages, min(g.spread) as spread,
            array_agg(n.key) as keys, array_agg(n.task_id) as tasks
        from asked g
        join unnest(p_groups, p_keys, p_tasks) as n(group_id, key, task_id) on n.group_id = g.id
        group by g.id, kinfolk.slot_page(n.key, n.task_id, g.first_page, g.pages, g.spread)
    ),
    -- Page by page, where all holders of a key stand on one; else over those of each key.
    wanted as materialized (
        select p.group_id, k.key, p.slots, k.many, cardinality(array_positions(s.keys, k.key)) as held
        from page p
        left join lateral (
            select s.keys
            from kinfolk.slot s
            where s.group_id = p.group_id
                and s.page = p.page
            offset 0
        ) s on true
        cross join lateral (
            select k.key, count(*) as many
            from unnest(p.keys) as k(key)
            group by k.key
            offset 0
        ) k
        where p_if_room
            and p.spread = 1
        union all
        select k.group_id, k.key, k.slots, k.many, h.held
        from (
            select p.group_id, k.key, min(p.slots) as slots, min(p.first_page) as first_page, min(p.pages) as pages,
                min(p.spread) as spread, count(*) as many
            from page p
            cross join lateral unnest(p.keys) as k(key)
            where p_if_room
                and p.spread > 1
            group by p.group_id, k.key
        ) k
        cross join lateral (
            select sum(cardinality(array_positions(s.keys, k.key))) as held
            from generate_series(0, k.spread - 1) as i
            join kinfolk.slot s on s.group_id = k.group_id and s.page = kinfolk.slot_page(k.key, i, k.first_page, k.pages, k.spread)
        ) h
    ),
    overfull as materialized (
        select kinfolk.key_number(w.group_id, w.key) as key
        from wanted w
        where w.many + coalesce(w.held, 0) > w.slots
    ),
    written as (
        insert into kinfolk.slot as s (group_id, page, keys, tasks)
        select p.group_id, p.page, p.keys, p.tasks
        from page p
        where not exists (select from overfull)
        on conflict (group_id, page) do update set
            keys = s.keys || excluded.keys,
            tasks = s.tasks || excluded.tasks,
            writes = s.writes + 1
        returning s.group_id, s.page, s.writes, cardinality(s.tasks) as many
    )
    -- Only where a page has come past a power of two: one that can't be split is not looked at each time. Or it was written often:
    -- while an old snapshot is held, all its versions are in the way of who reads it.
    select o.keys, w.full_groups
    into overfull, v_full_groups
    from (
        select coalesce(array_agg(o.key), '{}') as keys
        from overfull o
    ) o
    cross join (
        select array_agg(distinct w.group_id) filter (
            where w.writes >= kinfolk.slot_writes_max() or (w.many > 128
                and (w.many # (w.many - cardinality(p.tasks))) > (w.many & (w.many - cardinality(p.tasks))))) as full_groups
        from written w
        join page p on p.group_id = w.group_id and p.page = w.page
    ) w;
    perform kinfolk.spread_slots(g) from unnest(v_full_groups) g;
end
$$;

-- How often a page of slots is written before it gets another number.
create or replace function kinfolk.slot_writes_max() returns integer
language sql immutable
as $$ select 128 $$;

-- Gives a group as many pages as suit its holders, about 64 for each, and spreads those of one key over some of them where it has
-- more: the first such key fills a page, so until then only pages that are full are read for it. Where that changes nothing, but a
-- page was written often, all get new numbers: old versions that can't be removed yet stay behind under the old ones. The caller
-- has the admission lock.
create or replace function kinfolk.spread_slots(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_group record;
    v_held record;
    v_first integer;
    v_pages integer;
    v_spread integer;
begin
    select g.first_page, g.pages, g.spread into v_group from kinfolk.slot_group g where g.id = p_group;
    select sum(cardinality(s.tasks)) as many, max(k.holders) * v_group.spread as most, max(s.writes) as writes
    into v_held
    from kinfolk.slot s
    left join lateral (
        select count(*) as holders
        from unnest(s.keys) as k(key)
        group by k.key
        order by count(*) desc
        limit 1
    ) k on cardinality(s.tasks) >= 128 or v_group.spread > 1
    where s.group_id = p_group
        and s.page >= v_group.first_page;
    v_spread := 2 ^ ceil(log(2, greatest(v_held.most / 64, 1)));
    v_pages := greatest(2 ^ ceil(log(2, greatest(v_held.many / 64, 1))), v_spread);
    if (v_group.pages, v_group.spread) = (v_pages, v_spread) and v_held.writes < kinfolk.slot_writes_max() then
        return;
    end if;
    v_first := v_group.first_page + v_group.pages;
    update kinfolk.slot_group g
    set
        first_page = v_first,
        pages = v_pages,
        spread = v_spread
    where g.id = p_group;
    with gone as (
        delete from kinfolk.slot s
        where s.group_id = p_group
            and s.page >= v_group.first_page
        returning s.keys, s.tasks
    )
    insert into kinfolk.slot (group_id, page, keys, tasks)
    select p_group, kinfolk.slot_page(h.key, h.task_id, v_first, v_pages, v_spread), array_agg(h.key), array_agg(h.task_id)
    from gone g
    cross join lateral unnest(g.keys, g.tasks) as h(key, task_id)
    group by kinfolk.slot_page(h.key, h.task_id, v_first, v_pages, v_spread);
end
$$;

-- Takes the notes of groups: those who are noted there hold their slots no more. Answers the keys, if they are asked for. The caller has the admission locks. Reads `freed` and `slot` by their keys.
create or replace function kinfolk.take_notes(
    p_groups integer[], p_with_keys boolean, out groups integer[], out keys text[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
begin
    with noted as materialized (
        delete from kinfolk.freed f
        where f.group_id = any (p_groups)
        returning f.group_id, f.keys, f.tasks
    ),
    freed as materialized (
        select n.group_id, u.key, u.task_id, kinfolk.slot_page(u.key, u.task_id, g.first_page, g.pages, g.spread) as page
        from noted n
        join kinfolk.slot_group g on g.id = n.group_id
        cross join lateral unnest(n.keys, n.tasks) as u(key, task_id)
    ),
    touched as materialized (
        select f.group_id, f.page, array_agg(f.task_id) as tasks
        from freed f
        group by f.group_id, f.page
    ),
    remaining as materialized (
        select t.group_id, t.page, coalesce(l.keys, '{}') as keys, coalesce(l.tasks, '{}') as tasks
        from touched t
        cross join lateral (
            select s.keys, s.tasks
            from kinfolk.slot s
            where s.group_id = t.group_id
                and s.page = t.page
            offset 0
        ) s
        cross join lateral (
            select array_agg(h.key) as keys, array_agg(h.task_id) as tasks
            from unnest(s.keys, s.tasks) as h(key, task_id)
            where not exists (select from unnest(t.tasks) as f(id) where f.id = h.task_id)
        ) l
    ),
    written as (
        insert into kinfolk.slot as s (group_id, page, keys, tasks)
        select r.group_id, r.page, r.keys, r.tasks
        from remaining r
        on conflict (group_id, page) do update set keys = excluded.keys, tasks = excluded.tasks, writes = s.writes + 1
    )
    select array_agg(f.group_id), array_agg(f.key)
    into groups, keys
    from freed f
    where p_with_keys;
end
$$;

-- Notes that tasks have given back their slots of these keys, for the next one with the admission lock.
create or replace function kinfolk.note_freed(p_groups integer[], p_keys text[], p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.freed (group_id, keys, tasks)
    select n.group_id, array_agg(n.key), array_agg(n.task_id)
    from unnest(p_groups, p_keys, p_tasks) as n(group_id, key, task_id)
    group by n.group_id;
end
$$;

-- Who holds a slot of a key, as of now and without a lock.
create or replace function kinfolk.holders_of(p_group integer, p_key text) returns table (task_id bigint)
language sql stable
as $$
    select h.task_id
    from kinfolk.slot_group g
    cross join lateral generate_series(0, g.spread - 1) as i
    join kinfolk.slot s on s.group_id = g.id and s.page = kinfolk.slot_page(p_key, i, g.first_page, g.pages, g.spread)
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    where g.id = p_group
        and h.key = p_key
        and not exists (
            select
            from kinfolk.freed f
            where f.group_id = p_group
                and h.task_id = any (f.tasks))
$$;

-- Whether a task holds a slot of a key. Reads the one page on which it would stand, however many hold the key.
create or replace function kinfolk.holds_key(p_task bigint, p_group integer, p_key text) returns boolean
language sql stable
as $$
    select exists (
            select
            from kinfolk.slot_group g
            join kinfolk.slot s on s.group_id = g.id and s.page = kinfolk.slot_page(p_key, p_task, g.first_page, g.pages, g.spread)
            where g.id = p_group
                and s.keys[array_position(s.tasks, p_task)] = p_key)
        and not exists (
            select
            from kinfolk.freed f
            where f.group_id = p_group
                and p_task = any (f.tasks))
$$;

-- Whether a task holds a slot of one of its keys.
create or replace function kinfolk.has_slot(p_task bigint, p_command integer, p_keys jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from kinfolk.command_group cg
        where cg.command_id = p_command
            and kinfolk.holds_key(p_task, cg.group_id, coalesce(p_keys ->> cg.name, '')));
end
$$;

-- Whether a task, or one above it, holds a slot of a key for as long as it is not terminal.
create or replace function kinfolk.holds_slot(p_task bigint, p_group integer, p_key text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    while p_task is not null loop
        if kinfolk.holds_key(p_task, p_group, p_key) then
            return true;
        end if;
        p_task := (select t.parent_id from kinfolk.task t where t.id = p_task);
    end loop;
    return false;
end
$$;
