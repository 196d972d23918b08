-- All statuses, by name, as they were last looked at.
create or replace function kinfolk.statuses()
returns table (name text, commands text[], active boolean, changed_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select s.name, s.commands, s.active, s.changed_at
    from kinfolk.status s
    order by s.name
$$;
