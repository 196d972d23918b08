-- How the family of a task is doing, by generation: 1 is the root's children. Reads the family's fan-outs, not its tasks.
create or replace function kinfolk.progress(p_task bigint)
returns table (generation integer, total bigint, completed bigint, failed bigint, cancelled bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.require_task(p_task);
    return query
    select f.depth + 1, sum(f.total), sum(f.completed), sum(f.failed), sum(f.cancelled)
    from kinfolk.task t
    join kinfolk.fan_out f on f.root_id = coalesce(t.root_id, t.id)
    where t.id = p_task
    group by f.depth
    order by f.depth;
end
$$;
