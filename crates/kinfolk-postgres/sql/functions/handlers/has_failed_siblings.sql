-- Whether a child of the same parent has failed. Without a number: of the task that the caller handles.
create or replace function kinfolk.has_failed_siblings(task bigint default null) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id bigint := coalesce(task, kinfolk.current_task());
begin
    return exists (
        select
        from kinfolk.task t
        join kinfolk.fan_out f on f.id = t.fan_out_id
        where t.id = v_id
            and f.failed > case when t.state = 'failed' then 1 else 0 end);
end
$$;
