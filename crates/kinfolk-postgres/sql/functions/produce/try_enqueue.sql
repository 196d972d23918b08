-- As `enqueue`, for a caller that wants the answer `rejected` and `why` instead of an error where a command, a queue or a group is
-- not there.

create or replace function kinfolk.try_enqueue(
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
    out outcome text,
    out id bigint,
    out why text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_answer record;
begin
    v_answer := kinfolk.enqueue_task(row(command, payload, queue, priority, due, kinfolk.micros(delay), unique_key, unique_scope,
        kinfolk.micros(unique_window), on_duplicate, max_attempts, kinfolk.micros(timeout), trace, keys)::kinfolk.given_task);
    outcome := coalesce(v_answer.outcome, 'rejected');
    id := v_answer.id;
    if v_answer.why is not null then
        why := format('%s %s', replace(v_answer.why, '_', ' '), v_answer.name);
    end if;
end
$$;
