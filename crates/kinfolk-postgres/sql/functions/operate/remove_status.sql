-- Removes a status. Answers whether there was one. Takes the lock of the statuses (advisory), then locks the row.
create or replace function kinfolk.remove_status(p_name text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_found boolean;
begin
    if p_name is null then
        raise exception using errcode = 'KF001', message = 'p_name is null',
            hint = 'give the name of a status';
    end if;
    perform kinfolk.require_read_committed();
    perform pg_advisory_xact_lock(1263160907, 0);
    delete from kinfolk.status s where s.name = p_name;
    v_found := found;
    if not exists (select from kinfolk.status) then
        delete from kinfolk.started;
    end if;
    return v_found;
end
$$;
