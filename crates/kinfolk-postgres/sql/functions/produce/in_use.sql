-- Whether some task has a number in this range. By the primary key, whatever the planner knew when it was asked first.
create or replace function kinfolk.in_use(p_first bigint, p_last bigint) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return exists (select from kinfolk.task t where t.id between p_first and p_last);
end
$$;
