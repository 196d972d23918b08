-- Refuses sub-tasks that are not written as they must be, or that the suspension of this task would refuse. The bounds of their properties
-- are looked at by `suspend`.
create or replace function kinfolk.require_subs(p_task kinfolk.task, p_subs jsonb) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_strange text;
    v_subs kinfolk.given_tasks;
begin
    if jsonb_typeof(p_subs) is distinct from 'array' or p_subs @? 'strict $[*] ? (@.type() != "object")' then
        raise exception using errcode = 'KF001', message = 'subs is not an array of objects',
            hint = 'write [{"command": "price_of", "payload": {"item": 7}}], or [] for none: jsonb_agg answers null where there are no rows';
    end if;
    select key
    into v_strange
    from jsonb_array_elements(p_subs) item
    cross join lateral jsonb_object_keys(item) key
    where key not in ('command', 'payload', 'queue', 'priority', 'due', 'delay', 'max_attempts', 'timeout', 'trace', 'keys',
        'inherit_keys')
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('unknown key %L in a sub-task', v_strange),
            hint = case
                when v_strange in ('unique_key', 'unique_scope', 'unique_window', 'on_duplicate')
                then 'a child whose result is awaited can''t have a unique key'
                else 'the keys are the arguments of kinfolk.spawn'
            end;
    end if;
    v_subs := kinfolk.sub_tasks(p_subs, null);
    if array_position(v_subs.commands, null) is not null then
        raise exception using errcode = 'KF001', message = 'a sub-task has no command', hint = 'name the command of each sub-task';
    end if;
    perform kinfolk.require_makeable(p_task, 'child', g.command, g.queue, g.keys)
    from (
        select distinct g.command, g.queue, g.keys
        from unnest(v_subs.commands, v_subs.queues, v_subs.slot_keys) as g(command, queue, keys)
    ) g;
end
$$;
