-- The schedules whose tick has come.
create or replace function kinfolk.due_schedules() returns setof kinfolk.schedule
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select s.*
    from kinfolk.schedule s
    where not s.paused
        and s.next_at <= kinfolk.clock()
    order by s.next_at, s.name
$$;
