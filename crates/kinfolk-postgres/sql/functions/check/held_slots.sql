-- The holders of slots, without those that have given theirs back. Has no settings of its own, so that the planner inlines it.
create or replace function kinfolk.held_slots() returns table (group_id integer, page integer, key text, task_id bigint)
language sql stable
as $$
    select s.group_id, s.page, h.key, h.task_id
    from kinfolk.slot_holder s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    where not exists (
        select
        from kinfolk.freed f
        where f.group_id = s.group_id
            and h.task_id = any (f.tasks))
$$;
