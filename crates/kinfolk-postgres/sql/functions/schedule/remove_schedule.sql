-- Removes a schedule. Answers whether there was one. Locks the schedule.
create or replace function kinfolk.remove_schedule(p_name text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    if p_name is null then
        raise exception using errcode = 'KF001', message = 'p_name is null',
            hint = 'give the name of a schedule';
    end if;
    delete from kinfolk.schedule s where s.name = p_name;
    return found;
end
$$;
