-- A worker that has just started declares these schedules. Locks them, by name.
create or replace function kinfolk.declare_schedules(p_names text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    if p_names is null then
        raise exception using errcode = 'KF001', message = 'p_names is null',
            hint = 'give the names of schedules';
    end if;
    perform from kinfolk.schedule s where s.name = any (p_names) order by s.name for update;
    update kinfolk.schedule s
    set declared_at = kinfolk.clock()
    where s.name = any (p_names);
end
$$;
