-- Gives back the slots that a claim has taken for tasks that it does not start after all, because they were duplicates of
-- others, or roots whose family is busy. Slots that such a task held before stay: it has started before, and not afresh.
create or replace function kinfolk.drop_slots(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.add_freed(array_agg(cg.group_id), array_agg(coalesce(t.keys ->> cg.name, '')), array_agg(t.id))
    from unnest(p_tasks) as g(id)
    join kinfolk.task t on t.id = g.id
    join kinfolk.command_group cg on cg.command_id = t.command_id
    where t.started_at is null
        and (cg.name = 'total' or t.keys ? cg.name);
end
$$;
