-- The pages of `slot_holder` on which these tasks hold slots of these keys, or would: each with its group and the keys and tasks
-- that belong there, side by side.
create or replace function kinfolk.slot_pages(p_groups integer[], p_keys text[], p_tasks bigint[])
returns table (
    group_id integer, page integer, slots integer, first_page integer, pages integer, spread integer, keys text[], tasks bigint[]
)
language sql stable
as $$
    -- A list of its own, so that a group is not looked up for each of its keys.
    with asked as materialized (
        select g.id, coalesce(g.set_slots, g.slots) as slots, g.first_page, g.pages, g.spread
        from kinfolk.slot_group g
        where g.id = any (array(select distinct u from unnest(p_groups) u))
    )
    select g.id, kinfolk.slot_page(n.key, n.task_id, g.first_page, g.pages, g.spread), min(g.slots), min(g.first_page), min(g.pages),
        min(g.spread), array_agg(n.key), array_agg(n.task_id)
    from asked g
    join unnest(p_groups, p_keys, p_tasks) as n(group_id, key, task_id) on n.group_id = g.id
    group by g.id, kinfolk.slot_page(n.key, n.task_id, g.first_page, g.pages, g.spread)
$$;
