-- Whether a child has not ended, or is about to be made. Without a number: of the task that the caller handles.
create or replace function kinfolk.has_pending_children(task bigint default null) returns boolean
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
            from kinfolk.fan_out f
            where f.task_id = v_id
                and f.completed + f.failed + f.cancelled < f.total)
        or exists (
            select
            from kinfolk.intent i
            join kinfolk.task t on t.id = i.task_id and t.token = i.token
            where i.task_id = v_id
                and i.kind in ('child', 'fan_out'));
end
$$;
