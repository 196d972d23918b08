-- Tells of attempts that have just ended otherwise than well (failed, lost or cancelled): the hooks `on_error` of those commands that have
-- one, and what `tell_handlers` tells. `p_attempts` and `p_failures`: which attempts, and what is told of them. Reads the tasks, which the
-- caller has locked and written. Locks nothing.

create or replace function kinfolk.tell_errors(p_tasks bigint[], p_attempts integer[], p_failures jsonb[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.queue_hook(t.id, f.attempt, c.on_error,
        jsonb_build_object('error', f.failure -> 'message', 'failure', f.failure))
    from unnest(p_tasks, p_attempts, p_failures) as f(id, attempt, failure)
    join kinfolk.task t on t.id = f.id
    join kinfolk.command c on c.id = t.command_id
    where c.on_error is not null;
    perform kinfolk.tell_handlers(p_tasks);
end
$$;
