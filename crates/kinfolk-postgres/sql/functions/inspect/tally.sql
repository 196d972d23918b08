-- How many children a task has, and how many of them have ended in which way.
create or replace function kinfolk.tally(
    p_task bigint, out total bigint, out completed bigint, out failed bigint, out cancelled bigint
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.require_task(p_task);
    select coalesce(sum(f.total), 0), coalesce(sum(f.completed), 0), coalesce(sum(f.failed), 0), coalesce(sum(f.cancelled), 0)
    into total, completed, failed, cancelled
    from kinfolk.fan_out f
    where f.task_id = p_task;
end
$$;
