-- Frees the slots of a group whose holders do not run: the group no longer has `hold`.
create or replace function kinfolk.free_idle(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.add_freed(array_agg(p_group), array_agg(h.key), array_agg(h.task_id))
    from kinfolk.slot_holder s
    cross join lateral unnest(s.keys, s.tasks) as h(key, task_id)
    join kinfolk.task t on t.id = h.task_id
    where s.group_id = p_group
        and t.state <> 'running';
end
$$;
