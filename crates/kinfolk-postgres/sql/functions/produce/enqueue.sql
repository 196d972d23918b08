-- Enqueues one task in the caller's transaction. An argument that is null comes from the command. The answer: `created`, `existing`
-- or `merged`, with the task's number. A command, a queue or a group that is not there is an error (KF009): see `try_enqueue`. Works
-- under every isolation level; workers are woken by the commit. `keys`: its keys in the groups of its command, as an object:
-- '{"tenant": "acme"}'. `scheduled_at` and `parent_id` are not taken: they say what is meant.
-- `try_enqueue`, `spawn`, `spawn_sibling` and `follow_up` repeat this list: SQL has no list of named parameters that doors can share.

create or replace function kinfolk.enqueue(
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
    scheduled_at timestamptz default null,
    parent_id bigint default null,
    out outcome text,
    out id bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    -- In an expression: a query would show its lines to every reader of the error.
    v_is_sound boolean := kinfolk.require_our_words(scheduled_at, parent_id,
        'inside the handler of the parent call select kinfolk.spawn(command, payload)');
    v_answer record;
begin
    v_answer := kinfolk.enqueue_task(row(command, payload, queue, priority, due, kinfolk.micros(delay), unique_key, unique_scope,
        kinfolk.micros(unique_window), on_duplicate, max_attempts, kinfolk.micros(timeout), trace, keys)::kinfolk.given_task);
    if v_answer.why is not null then
        -- Not by `perform`, which would show its own line to every reader of the error.
        v_answer := kinfolk.reject(v_answer.why, v_answer.name);
    end if;
    outcome := v_answer.outcome;
    id := v_answer.id;
end
$$;
