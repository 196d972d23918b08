-- The handler of a task and its payload, as long as the token holds. For the built-in `db_function` the payload names the handler.
-- `steps`: how many checkpoints the task has.
create or replace function kinfolk.handling(p_task bigint, p_token uuid)
returns table (handler text, kind text, before text, after text, payload jsonb, envelope boolean, on_success text, steps integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return query
    select case when c.handler = 'db_function' then kinfolk.named_in(g.payload, 'db_function') else c.handler end,
        case when c.handler = 'db_function' then 'function' else c.handler_kind end,
        c.before_handler, c.after_handler, g.payload, c.envelope, c.on_success, t.steps
    from kinfolk.task t
    join kinfolk.command c on c.id = t.command_id
    cross join lateral (
        select coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)) as payload
    ) g
    where t.id = p_task
        and t.token = p_token
        and t.state = 'running'
        and c.handler is not null;
end
$$;
