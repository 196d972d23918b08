-- Adds tasks as holders of slots. With `p_if_room`, if a key would have more holders than slots, adds none and returns these
-- keys, by `key_number`.
--
-- The caller has the admission locks, and has taken the hints of these groups since it locked the tasks: an old hint would
-- remove the new holders again.
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
    -- Page by page, where all holders of a key are on one; else over the pages of each key.
    wanted as materialized (
        select p.group_id, k.key, p.slots, k.many, cardinality(array_positions(s.keys, k.key)) as held
        from page p
        left join lateral (
            select s.keys
            from kinfolk.slot_holder s
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
            join kinfolk.slot_holder s on s.group_id = k.group_id and s.page = kinfolk.slot_page(k.key, i, k.first_page, k.pages, k.spread)
        ) h
    ),
    overfull as materialized (
        select kinfolk.key_number(w.group_id, w.key) as key
        from wanted w
        where w.many + coalesce(w.held, 0) > w.slots
    ),
    written as (
        insert into kinfolk.slot_holder as s (group_id, page, keys, tasks)
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
    -- while an old snapshot is held, all its versions are in the way of readers.
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
