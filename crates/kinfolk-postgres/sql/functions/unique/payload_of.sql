-- The payload of a task as it was enqueued, wherever it is kept.

create or replace function kinfolk.payload_of(p_task bigint) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id))
        from kinfolk.task t
        where t.id = p_task);
end
$$;
