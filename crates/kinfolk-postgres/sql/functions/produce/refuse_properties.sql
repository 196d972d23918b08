-- Says which property of a task no store would keep, and why. `require_policy` checks the properties that commands have
-- too.

create or replace function kinfolk.refuse_properties(p_bad kinfolk.task_properties) returns boolean
language plpgsql
as $$
begin
    if p_bad.delay_us < 0 then
        raise exception using errcode = 'KF001', message = format('a negative delay: %s', kinfolk.span(p_bad.delay_us)),
            hint = 'give a span from now on';
    elsif p_bad.delay_us > kinfolk.delay_max_us() then
        raise exception using errcode = 'KF001',
            message = format('a delay of %s is out of range', kinfolk.span(p_bad.delay_us)),
            hint = 'it must be at most ten years';
    elsif p_bad.unique_key = '' or octet_length(p_bad.unique_key) > kinfolk.unique_key_bytes_max() then
        raise exception using errcode = 'KF001',
            message = format('unique key %L is %s bytes', left(p_bad.unique_key, 60), octet_length(p_bad.unique_key)),
            hint = format('it must have 1 to %s', kinfolk.unique_key_bytes_max());
    elsif p_bad.unique_scope not in ('pending', 'active', 'window') then
        raise exception using errcode = 'KF001', message = format('unknown unique_scope %L', p_bad.unique_scope),
            hint = 'there are: pending, active, window';
    elsif p_bad.unique_scope = 'window' and coalesce(p_bad.unique_window_us not between 1 and kinfolk.delay_max_us(), true) then
        raise exception using errcode = 'KF001',
            message = format('a unique_window of %s is out of range', kinfolk.span(p_bad.unique_window_us)),
            hint = 'it must be more than zero and at most ten years';
    elsif p_bad.on_duplicate not in ('keep', 'replace', 'merge') then
        raise exception using errcode = 'KF001', message = format('unknown on_duplicate %L', p_bad.on_duplicate),
            hint = 'there are: keep, replace, merge';
    end if;
    raise exception using errcode = 'KF001',
        message = format('the trace context is %s bytes', octet_length(p_bad.trace)),
        hint = format('it must be at most %s', kinfolk.trace_bytes_max());
end
$$;
