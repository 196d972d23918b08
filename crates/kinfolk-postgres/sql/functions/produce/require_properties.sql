-- Refuses a whole call if any of the tasks it makes has a property that no store would keep.

create or replace function kinfolk.require_properties(p_tasks kinfolk.given_tasks) returns boolean
language plpgsql
as $$
declare
    v_priority integer := kinfolk.priority_abs_max();
    v_attempts integer := kinfolk.attempts_max();
    v_timeout bigint := kinfolk.timeout_max_us();
    v_delay bigint := kinfolk.delay_max_us();
    v_key integer := kinfolk.unique_key_bytes_max();
    v_trace integer := kinfolk.trace_bytes_max();
    v_bad kinfolk.task_properties;
begin
    select g.*
    into v_bad
    from (
        select unnest(p_tasks.priorities) as priority, unnest(p_tasks.delays_us) as delay_us, unnest(p_tasks.keys) as key,
            unnest(p_tasks.scopes) as scope, unnest(p_tasks.windows_us) as window_us,
            unnest(p_tasks.on_duplicates) as on_duplicate, unnest(p_tasks.max_attempts) as max_attempts,
            unnest(p_tasks.timeouts_us) as timeout_us, unnest(p_tasks.traces) as trace
    ) g
    where g.priority not between -v_priority and v_priority
        or g.max_attempts not between 1 and v_attempts
        or g.timeout_us not between 1 and v_timeout
        or g.delay_us not between 0 and v_delay
        or octet_length(g.key) not between 1 and v_key
        or g.scope not in ('pending', 'active', 'window')
        or (g.scope = 'window' and coalesce(g.window_us not between 1 and v_delay, true))
        or g.on_duplicate not in ('keep', 'replace', 'merge')
        or octet_length(g.trace) > v_trace
    limit 1;
    -- In an expression: a query would show its lines to whoever reads the error.
    return not found
        or (kinfolk.require_policy(v_bad.priority, v_bad.max_attempts, v_bad.timeout_us) and kinfolk.refuse_properties(v_bad));
end
$$;
