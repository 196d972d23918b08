-- Opens the context of an SQL handler: from here on its transaction (or, for a procedure, which may commit, its session) speaks for this
-- attempt. Checks the fence, and answers the function to call and its arguments. After a fan-out it is the function that goes on, with
-- the results in `resumed`; if these are not there yet, the task waits again, and `kind` is `suspended`.
--
-- Takes the handler's lock of the task (advisory), and waits for it. Then the session that ran an earlier attempt is gone, and
-- recovery leaves the task alone until this session is gone, too. Locks no row, unless the task waits again (`await_more`). Drops the
-- intents of earlier attempts.

create or replace function kinfolk.begin_handling(
    p_task bigint, p_token uuid, p_session boolean default false,
    out handler text, out kind text, out before text, out after text, out payload jsonb, out envelope boolean,
    out on_success text, out resumed jsonb
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
    v_steps integer;
begin
    perform kinfolk.require_read_committed();
    if p_session then
        perform pg_advisory_lock(1263160908, hashint8(p_task));
    else
        perform pg_advisory_xact_lock(1263160908, hashint8(p_task));
    end if;
    select h.* into handler, kind, before, after, payload, envelope, on_success, v_steps from kinfolk.handling(p_task, p_token) h;
    if not found then
        if p_session then
            perform pg_advisory_unlock(1263160908, hashint8(p_task));
        end if;
        raise exception using errcode = 'KF010',
            message = format('task %s is not with this attempt, or has no handler in the database', p_task);
    end if;
    if exists (select from kinfolk.intent i where i.task_id = p_task) then
        delete from kinfolk.intent i where i.task_id = p_task;
    end if;
    perform set_config('kinfolk.task', p_task::text, not p_session);
    perform set_config('kinfolk.token', p_token::text, not p_session);
    if v_steps > 0 and kind = 'function' then
        select coalesce(g.handler, begin_handling.handler), coalesce(g.kind, begin_handling.kind), g.resumed
        into handler, kind, resumed
        from kinfolk.go_on(p_task, p_token) g;
    end if;
end
$$;
