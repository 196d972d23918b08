-- Refuses a priority, a number of attempts or a timeout that no store would keep. Null is fine: it means the default.

create or replace function kinfolk.require_policy(priority integer, max_attempts integer, timeout_us bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if priority not between -kinfolk.priority_abs_max() and kinfolk.priority_abs_max() then
        raise exception using errcode = 'KF001', message = format('priority %s is out of range', priority),
            hint = format('it must be within ±%s', kinfolk.priority_abs_max());
    elsif max_attempts not between 1 and kinfolk.attempts_max() then
        raise exception using errcode = 'KF001', message = format('max_attempts is %s', max_attempts),
            hint = format('it must be 1 to %s', kinfolk.attempts_max());
    elsif timeout_us not between 1 and kinfolk.timeout_max_us() then
        raise exception using errcode = 'KF001',
            message = format('the timeout of %s is out of range', kinfolk.span(timeout_us)),
            hint = 'it must be more than zero and at most a year';
    end if;
    return true;
end
$$;
