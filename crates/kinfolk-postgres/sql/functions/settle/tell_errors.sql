-- Tells the hooks `on_error` of those commands that have one of attempts that have just failed: `queue_hook` for each. Reads the tasks,
-- which the caller has locked and written. Locks nothing.

create or replace function kinfolk.tell_errors(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.queue_hook(t.id, t.token, c.on_error,
        jsonb_build_object('error', t.failure -> 'message', 'failure', t.failure))
    from unnest(p_tasks) as f(id)
    join kinfolk.task t on t.id = f.id
    join kinfolk.command c on c.id = t.command_id
    where c.on_error is not null;
end
$$;
