-- Takes the hints of groups: removes the named holders from the pages. Returns the freed keys, if the caller asks for them.
--
-- The caller has the admission locks. Reads `freed` and `slot_holder` by their keys.
create or replace function kinfolk.take_freed(
    p_groups integer[], p_with_keys boolean, out groups integer[], out keys text[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
as $$
begin
    with freed_now as materialized (
        delete from kinfolk.freed f
        where f.group_id = any (p_groups)
        returning f.group_id, f.keys, f.tasks
    ),
    freed as materialized (
        select n.group_id, u.key, u.task_id, kinfolk.slot_page(u.key, u.task_id, g.first_page, g.pages, g.spread) as page
        from freed_now n
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
            from kinfolk.slot_holder s
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
        insert into kinfolk.slot_holder as s (group_id, page, keys, tasks)
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
