-- Refuses what is not an array of objects with known keys, each with a command.

create or replace function kinfolk.require_items(p_tasks jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_strange text;
begin
    if jsonb_typeof(p_tasks) is distinct from 'array' or p_tasks @? 'strict $[*] ? (@.type() != "object")' then
        raise exception using errcode = 'KF001', message = 'tasks is not an array of objects',
            hint = 'write [{"command": "send", "payload": {}}]';
    end if;
    select key
    into v_strange
    from jsonb_array_elements(p_tasks) item
    cross join lateral jsonb_object_keys(item) key
    where key not in ('command', 'payload', 'queue', 'priority', 'due', 'delay', 'unique_key', 'unique_scope',
        'unique_window', 'on_duplicate', 'max_attempts', 'timeout', 'trace', 'keys')
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('unknown key %L in a task', v_strange),
            hint = case v_strange
                when 'scheduled_at' then 'it is called due here'
                when 'parent_id' then 'inside the handler of the parent call kinfolk.spawn'
                else 'the keys are the arguments of kinfolk.enqueue'
            end;
    end if;
    if p_tasks @? '$[*] ? (!exists(@.command) || @.command == null)' then
        raise exception using errcode = 'KF001', message = 'the command of a task is null', hint = 'name a command that is registered';
    end if;
    return true;
end
$$;
