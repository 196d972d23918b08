-- Makes a child of the task that a handler in SQL runs for: that task waits for the child, and fails if the child
-- fails. Answers the child's number. The child exists once the attempt has ended well, and only then; under a unique
-- key that another task holds by then, it never does.
--
-- An argument that is null comes from the command, but the priority from the parent. `keys`: in the groups of its command;
-- `inherit_keys`: also those of the handler's task, where its command has groups for them.
create or replace function kinfolk.spawn(
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
    inherit_keys boolean default false,
    scheduled_at timestamptz default null,
    parent_id bigint default null
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    -- In an expression: a query would show its lines to every reader of the error.
    v_is_sound boolean := kinfolk.require_our_words(scheduled_at, parent_id,
        'leave it out: the parent is the task that is handled; kinfolk.spawn_sibling makes a child of its parent');
begin
    return kinfolk.intend('child', row(command, payload, queue, priority, due, kinfolk.micros(delay), unique_key, unique_scope,
        kinfolk.micros(unique_window), on_duplicate, max_attempts, kinfolk.micros(timeout), trace, keys)::kinfolk.given_task, inherit_keys);
end
$$;
