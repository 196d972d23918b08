-- Adds tasks as holders of slots.
--
-- The caller has the admission locks, and has taken the hints of these groups since it locked the tasks: an old hint would
-- remove the new holders again.
create or replace function kinfolk.take_slots(p_groups integer[], p_keys text[], p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
declare
    v_full_groups integer[];
begin
    with page as materialized (
        select p.* from kinfolk.slot_pages(p_groups, p_keys, p_tasks) p
    ),
    written as (
        insert into kinfolk.slot_holder as s (group_id, page, keys, tasks)
        select p.group_id, p.page, p.keys, p.tasks
        from page p
        on conflict (group_id, page) do update set
            keys = s.keys || excluded.keys,
            tasks = s.tasks || excluded.tasks,
            writes = s.writes + 1
        returning s.group_id, s.page, s.writes, cardinality(s.tasks) as many
    )
    -- Only where a page has come past a power of two: one that can't be split is not looked at each time. Or it was written often:
    -- while an old snapshot is held, all its versions are in the way of who reads it.
    select array_agg(distinct w.group_id) filter (
        where w.writes >= kinfolk.slot_writes_max() or (w.many > 128
            and (w.many # (w.many - cardinality(p.tasks))) > (w.many & (w.many - cardinality(p.tasks)))))
    into v_full_groups
    from written w
    join page p on p.group_id = w.group_id and p.page = w.page;
    perform kinfolk.spread_slots(g) from unnest(v_full_groups) g;
end
$$;
