-- Tells the next look at the statuses that tasks were started, of those commands that a status watches. Locks nothing, and
-- waits for no other call. Reads the primary key of `task`, and the few rows of `status` and `started`.

create or replace function kinfolk.tell_statuses(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = on
as $$
begin
    insert into kinfolk.started (command_id)
    select c.id
    from kinfolk.command c
    where c.id in (select t.command_id from kinfolk.task t where t.id = any (p_tasks))
        and exists (select from kinfolk.status s where c.name = any (s.commands))
        -- One is enough. More come from claims that do not see each other, so there are few.
        and not exists (select from kinfolk.started s where s.command_id = c.id);
end
$$;
