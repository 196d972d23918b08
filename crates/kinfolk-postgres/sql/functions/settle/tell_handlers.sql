-- Tells the `error_handler` that the payload of a message names (`email`, `sms`, `http`) of those tasks that have just failed or been cancelled
-- without it: by `queue_hook`, once for each. So a supervisor hears of every attempt that it scheduled. A payload names one as a text, or
-- none. Reads the tasks, which the caller has locked and written. Locks nothing.

create or replace function kinfolk.tell_handlers(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    if not exists (select from kinfolk.command c where c.handler in ('email', 'sms', 'http'))
        or not exists (select from kinfolk.command c where c.name = 'db_function')
    then
        return;
    end if;
    perform kinfolk.queue_hook(t.id, null, p.payload ->> 'error_handler',
        jsonb_build_object('error', t.failure -> 'message', 'failure', t.failure))
    from unnest(p_tasks) as f(id)
    join kinfolk.task t on t.id = f.id
    join kinfolk.command c on c.id = t.command_id
    cross join lateral (select kinfolk.payload_of(t.id) as payload) p
    where c.handler in ('email', 'sms', 'http')
        and t.state in ('failed', 'cancelled')
        and jsonb_typeof(p.payload -> 'error_handler') = 'string'
        and p.payload ->> 'error_handler' <> '';
end
$$;
