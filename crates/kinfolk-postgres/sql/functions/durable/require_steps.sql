-- Refuses more checkpoints than one task may have.
create or replace function kinfolk.require_steps(p_steps integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_steps > kinfolk.steps_max() then
        raise exception using errcode = 'KF008', message = 'checkpoints of one task',
            hint = format('a task records at most %s; let children do part of the work', kinfolk.steps_max()),
            detail = p_steps::text;
    end if;
end
$$;
