-- Refuses a whole call if any of the tasks it makes is one that no store would keep, or if there are more than `p_most`.
-- `p_each`: something that there is of each task, such as its number. Answers how large the largest payload is in memory.
-- What most tasks don't bring is looked at only where there is some: this is on the way of every enqueue.

create or replace function kinfolk.require_tasks(
    p_each anyarray, p_commands text[], p_payloads jsonb[], p_priorities integer[], p_delays_us bigint[], p_keys text[],
    p_scopes text[], p_windows_us bigint[], p_on_duplicates text[], p_max_attempts integer[], p_timeouts_us bigint[],
    p_traces text[], p_most integer
) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_payload bigint;
    v_priority integer;
    v_attempts integer;
    v_timeout bigint;
    v_delay bigint;
    v_key integer;
    v_trace integer;
    v_largest integer;
    v_given bigint;
    v_bytes bigint;
    v_bad record;
begin
    if cardinality(p_each) > p_most then
        raise exception using errcode = 'KF001', message = format('%s tasks in one call', cardinality(p_each)),
            hint = format('send at most %s at once', p_most);
    end if;
    if cardinality(p_commands) is distinct from cardinality(p_each)
        or cardinality(p_payloads) is distinct from cardinality(p_each)
    then
        raise exception using errcode = 'KF001', message = 'numbers, commands and payloads must be as many';
    end if;

    if array_position(p_commands, null) is not null or array_position(p_each, null) is not null then
        raise exception using errcode = 'KF001', message = 'a command, or the number of a task, is null',
            hint = 'name the command of each task';
    end if;

    select max(pg_column_size(p)), count(p)
    into v_largest, v_given
    from unnest(p_payloads) p;
    if v_given < cardinality(p_payloads) then
        raise exception using errcode = 'KF001', message = 'a payload is null',
            hint = 'send {} when there is nothing to say';
    end if;
    -- By its size in memory first: no value's text is as much as eight times that.
    v_payload := kinfolk.payload_bytes_max();
    if v_largest * 8::bigint > v_payload then
        select kinfolk.json_bytes(p)
        into v_bytes
        from unnest(p_payloads) p
        where kinfolk.json_longer_than(p, v_payload)
        limit 1;
        if found then
            raise exception using errcode = 'KF006',
                message = format('the payload is %s bytes, more than %s', v_bytes, v_payload),
                hint = 'keep the data elsewhere and send a reference', detail = v_bytes::text;
        end if;
    end if;

    if cardinality(p_priorities) + cardinality(p_delays_us) + cardinality(p_keys) + cardinality(p_scopes)
        + cardinality(p_windows_us) + cardinality(p_on_duplicates) + cardinality(p_max_attempts)
        + cardinality(p_timeouts_us) + cardinality(p_traces) = 0
    then
        return v_largest;
    end if;
    v_priority := kinfolk.priority_abs_max();
    v_attempts := kinfolk.attempts_max();
    v_timeout := kinfolk.timeout_max_us();
    v_delay := kinfolk.delay_max_us();
    v_key := kinfolk.unique_key_bytes_max();
    v_trace := kinfolk.trace_bytes_max();
    for v_bad in
        select g.*
        from (
            select unnest(p_priorities) as priority, unnest(p_delays_us) as delay_us, unnest(p_keys) as key,
                unnest(p_scopes) as scope, unnest(p_windows_us) as window_us, unnest(p_on_duplicates) as on_duplicate,
                unnest(p_max_attempts) as max_attempts, unnest(p_timeouts_us) as timeout_us, unnest(p_traces) as trace
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
        limit 1
    loop
        if not kinfolk.require_policy(v_bad.priority, v_bad.max_attempts, v_bad.timeout_us) then
            continue;
        elsif v_bad.delay_us < 0 then
            raise exception using errcode = 'KF001', message = format('a negative delay: %s', kinfolk.span(v_bad.delay_us)),
                hint = 'give a span from now on';
        elsif v_bad.delay_us > kinfolk.delay_max_us() then
            raise exception using errcode = 'KF001',
                message = format('a delay of %s is out of range', kinfolk.span(v_bad.delay_us)),
                hint = 'it must be at most ten years';
        elsif v_bad.key = '' or octet_length(v_bad.key) > kinfolk.unique_key_bytes_max() then
            raise exception using errcode = 'KF001',
                message = format('unique key %L is %s bytes', left(v_bad.key, 60), octet_length(v_bad.key)),
                hint = format('it must have 1 to %s', kinfolk.unique_key_bytes_max());
        elsif v_bad.scope not in ('pending', 'active', 'window') then
            raise exception using errcode = 'KF001', message = format('unknown unique_scope %L', v_bad.scope),
                hint = 'there are: pending, active, window';
        elsif v_bad.scope = 'window' and coalesce(v_bad.window_us not between 1 and kinfolk.delay_max_us(), true) then
            raise exception using errcode = 'KF001',
                message = format('a unique_window of %s is out of range', kinfolk.span(v_bad.window_us)),
                hint = 'it must be more than zero and at most ten years';
        elsif v_bad.on_duplicate not in ('keep', 'replace', 'merge') then
            raise exception using errcode = 'KF001', message = format('unknown on_duplicate %L', v_bad.on_duplicate),
                hint = 'there are: keep, replace, merge';
        elsif octet_length(v_bad.trace) > kinfolk.trace_bytes_max() then
            raise exception using errcode = 'KF001',
                message = format('the trace context is %s bytes', octet_length(v_bad.trace)),
                hint = format('it must be at most %s', kinfolk.trace_bytes_max());
        end if;
    end loop;
    return v_largest;
end
$$;
