-- Refuses a number that no task has (KF002).

create or replace function kinfolk.require_task(p_task bigint) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (select from kinfolk.task t where t.id = p_task) then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    end if;
end
$$;
