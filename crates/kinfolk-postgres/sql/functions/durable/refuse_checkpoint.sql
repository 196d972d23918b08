-- Refuses a checkpoint whose key has another record.
create or replace function kinfolk.refuse_checkpoint(p_task bigint, p_branch text, p_name text, p_occurrence integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = 'KF001',
        message = format('task %s has already recorded step %s', p_task, kinfolk.step_name(p_branch, p_name, p_occurrence));
end
$$;
