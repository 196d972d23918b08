-- A child of the same parent, which waits for it too.
create or replace function kinfolk.spawn_sibling(
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
    keys jsonb default null,
    inherit_keys boolean default false
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return kinfolk.intend('sibling', row(command, payload, queue, priority, due, kinfolk.micros(delay), unique_key, unique_scope,
        kinfolk.micros(unique_window), on_duplicate, max_attempts, kinfolk.micros(timeout), trace, keys)::kinfolk.given_task, inherit_keys);
end
$$;
