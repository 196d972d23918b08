-- Appends to the error log what went wrong in an attempt that ends well all the same, since an `error_handler` is told, and has the hook
-- `on_error` of the command told as well. The token must hold. Locks nothing.

create or replace function kinfolk.log_error(p_task bigint, p_token uuid, p_failure jsonb) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
    if num_nulls(p_task, p_token, p_failure) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task, p_token or p_failure is null',
            hint = 'say whose attempt it is, and what went wrong';
    end if;
    perform kinfolk.require_settles(array[p_task], array[p_token], array['failed'], '{}', array[p_failure], '{}');
    insert into kinfolk.error (at, task_id, command_id, queue_id, attempt, handler, failure)
    select kinfolk.clock(), t.id, t.command_id, t.queue_id, t.attempt, kinfolk.failing_function(t.id), p_failure
    from kinfolk.task t
    where t.id = p_task
        and t.token = p_token
        and t.state = 'running';
    if not found then
        raise exception using errcode = 'KF010', message = format('task %s is no longer with this attempt', p_task);
    end if;
    perform kinfolk.tell_errors(array[p_task], array[null::integer], array[p_failure]);
end
$$;
