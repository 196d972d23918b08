-- The state of a root whose own work is done: null while it has open children; `failed` if a spawned child has failed.
create or replace function kinfolk.end_of_root(p_root bigint) returns kinfolk.state
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return (
        select case
            when sum(f.total - f.completed - f.failed - f.cancelled) > 0 then null
            when sum(f.failed) filter (where f.rule is null) > 0 then 'failed'
            else 'completed'
        end::kinfolk.state
        from kinfolk.fan_out f
        where f.task_id = p_root);
end
$$;
