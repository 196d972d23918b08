-- Opens the context of an SQL handler: from here on its transaction (or, for a procedure, which may commit, its session)
-- speaks for this attempt. Checks the fence, and answers what is to be called with what.
--
-- Takes the handler's lock of the task (advisory), waiting: whoever ran an earlier attempt of it is gone then, and
-- recovery leaves the task alone until this one is. Locks no row. What an earlier attempt meant to make is dropped.

create or replace function kinfolk.enter(
    p_task bigint, p_token uuid, p_session boolean default false,
    out handler text, out kind text, out before text, out after text, out payload jsonb, out envelope boolean,
    out on_success text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform kinfolk.require_read_committed();
    if p_session then
        perform pg_advisory_lock(1263160908, hashint8(p_task));
    else
        perform pg_advisory_xact_lock(1263160908, hashint8(p_task));
    end if;
    select h.* into handler, kind, before, after, payload, envelope, on_success from kinfolk.handling(p_task, p_token) h;
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
end
$$;

-- What handles a task, and what with, as long as the token holds. Of the built-in `db_function` it is what the payload names.
create or replace function kinfolk.handling(p_task bigint, p_token uuid)
returns table (handler text, kind text, before text, after text, payload jsonb, envelope boolean, on_success text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select case when c.handler = 'db_function' then kinfolk.named_in(g.payload, 'db_function') else c.handler end,
        case when c.handler = 'db_function' then 'function' else c.handler_kind end,
        c.before_handler, c.after_handler, g.payload, c.envelope, c.on_success
    from kinfolk.task t
    join kinfolk.command c on c.id = t.command_id
    cross join lateral (
        select coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)) as payload
    ) g
    where t.id = p_task
        and t.token = p_token
        and t.state = 'running'
        and c.handler is not null
$$;

-- Closes the context of a procedure's session.
create or replace function kinfolk.depart(p_task bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform set_config('kinfolk.task', '', false);
    perform set_config('kinfolk.token', '', false);
    perform pg_advisory_unlock(1263160908, hashint8(p_task));
end
$$;

-- Drops what attempts of these tasks meant to make. Only a procedure can leave something behind.
create or replace function kinfolk.drop_intents(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    if exists (select from kinfolk.command c where c.handler_kind = 'procedure') then
        delete from kinfolk.intent i where i.task_id = any (p_tasks);
    end if;
end
$$;
