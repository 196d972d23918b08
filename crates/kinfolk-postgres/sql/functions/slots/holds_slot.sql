-- Whether a task holds a slot of a key. Reads the one page of the task, however many tasks hold the key.
create or replace function kinfolk.holds_slot(p_task bigint, p_group integer, p_key text) returns boolean
language sql stable
as $$
    select exists (
            select
            from kinfolk.slot_group g
            join kinfolk.slot_holder s on s.group_id = g.id and s.page = kinfolk.slot_page(p_key, p_task, g.first_page, g.pages, g.spread)
            where g.id = p_group
                and s.keys[array_position(s.tasks, p_task)] = p_key)
        and not exists (
            select
            from kinfolk.freed f
            where f.group_id = p_group
                and p_task = any (f.tasks))
$$;
