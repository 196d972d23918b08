-- Takes in one order all locks that the suspensions of one transaction need. `p_makers`: the suspension makes siblings or
-- follow-ups, and so may reach rows of other tasks. The family of such a task, and of one that was suspended before, is
-- locked exclusively.
create or replace function kinfolk.lock_suspended(p_tasks bigint[], p_makers boolean[], p_commands text[], p_keys text[])
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.lock_families(array_agg(coalesce(t.root_id, t.id)),
        array_agg(coalesce(t.root_id, t.id)) filter (where t.was_suspended or g.is_maker))
    from unnest(p_tasks, p_makers) as g(id, is_maker)
    join kinfolk.task t on t.id = g.id;
    perform kinfolk.lock_follow_up_keys(p_commands, p_keys);
end
$$;
