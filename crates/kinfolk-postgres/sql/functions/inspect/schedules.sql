-- All schedules, as they are shown.

create or replace function kinfolk.schedules() returns setof kinfolk.schedule
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$ select s.* from kinfolk.schedule s order by s.name $$;
