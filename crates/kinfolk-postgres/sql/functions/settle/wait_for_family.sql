-- Has tasks, whose own work is over and whose families the caller has locked whole, settle with their last child.
create or replace function kinfolk.wait_for_family(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    update kinfolk.fan_out f set waits = true where f.task_id = any (p_tasks);
end
$$;
