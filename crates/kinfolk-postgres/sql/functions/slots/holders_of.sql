-- The tasks that hold a slot of a key, as of now and without a lock.
create or replace function kinfolk.holders_of(p_group integer, p_key text) returns table (task_id bigint)
language sql stable
as $$
    select h.task_id
    from kinfolk.slot_group g
    cross join lateral generate_series(0, g.spread - 1) as i
    join kinfolk.slot_holder s on s.group_id = g.id and s.page = kinfolk.slot_page(p_key, i, g.first_page, g.pages, g.spread)
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    where g.id = p_group
        and h.key = p_key
        and not exists (
            select
            from kinfolk.freed f
            where f.group_id = p_group
                and h.task_id = any (f.tasks))
$$;
