-- Lets the pending task of a command under a unique key run now, if there is one that is not due yet: for a fact that someone waits for
-- with a delayed look as a safety net. A handler's wish is noted down, and carried out by `finish`, after the settle.
-- Locks nothing inside a handler; else what `hasten_all` locks.

create or replace function kinfolk.hasten(command text, unique_key text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_task kinfolk.task;
begin
    if num_nulls(command, unique_key) > 0 then
        raise exception using errcode = 'KF001', message = 'command or unique_key is null',
            hint = 'say which task is meant by its command and its unique key';
    end if;
    if coalesce(current_setting('kinfolk.task', true), '') = '' then
        perform kinfolk.hasten_all(array[command], array[unique_key]);
        return;
    end if;
    v_task := kinfolk.handled();
    insert into kinfolk.intent (task_id, token, kind, command, unique_key)
    values (v_task.id, v_task.token, 'hasten', command, unique_key);
end
$$;
