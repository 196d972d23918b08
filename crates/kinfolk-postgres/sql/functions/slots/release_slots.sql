-- `free_slots` for a caller that knows only the numbers of the tasks. Looks up their commands, their keys and their states.
--
-- Locks nothing. Reads the tasks by their numbers, and what `free_slots` reads.

create or replace function kinfolk.release_slots(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.free_slots(array_agg(t.id), array_agg(t.command_id), array_agg(t.keys),
        array_agg(t.state >= 'completed'))
    from unnest(p_tasks) as g(id)
    cross join lateral (
        select t.id, t.command_id, t.keys, t.state
        from kinfolk.task t
        where t.id = g.id
        offset 0
    ) t;
end
$$;
