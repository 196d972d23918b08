-- A task that starts after the whole family of the handler's task has settled, well or badly; with `starts_when =>
-- 'completed'` only if it went well, else it is cancelled.
create or replace function kinfolk.follow_up(
    command text,
    payload jsonb default '{}',
    queue text default null,
    priority integer default null,
    due timestamptz default null,
    delay interval default null,
    unique_key text default null,
    unique_scope text default 'pending',
    unique_window interval default null,
    on_duplicate text default 'keep',
    max_attempts integer default null,
    timeout interval default null,
    trace text default null,
    starts_when text default 'settled',
    keys jsonb default null,
    inherit_keys boolean default false
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(starts_when not in ('settled', 'completed'), true) then
        raise exception using errcode = 'KF001', message = format('unknown starts_when %L', starts_when),
            hint = 'there are: settled, completed';
    end if;
    return kinfolk.intend('follow_up', row(command, payload, queue, priority, due, kinfolk.micros(delay), unique_key, unique_scope,
        kinfolk.micros(unique_window), on_duplicate, max_attempts, kinfolk.micros(timeout), trace, keys)::kinfolk.given_task, inherit_keys, starts_when);
end
$$;
