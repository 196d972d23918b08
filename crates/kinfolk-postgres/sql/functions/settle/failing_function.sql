-- The handler of a task as the error log names it: the function in this database that failed. After a fan-out that is the function that
-- goes on; before it, of the built-in `db_function`, the one that the payload names. Null where the handler is somewhere else. Locks
-- nothing; reads by the keys of task, command, body and checkpoint.

create or replace function kinfolk.failing_function(p_task bigint) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select coalesce(
            -- Only functions have such checkpoints.
            case when t.steps > 0 and c.handler is not null then (select n.handler from kinfolk.continuation_of(t.id) n) end,
            case
                when c.handler = 'db_function'
                then left(coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)) ->> 'db_function',
                    kinfolk.function_bytes_max())
                else c.handler
            end)
        from kinfolk.task t
        join kinfolk.command c on c.id = t.command_id
        where t.id = p_task);
end
$$;
