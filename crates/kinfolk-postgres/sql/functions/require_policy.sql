-- Refuses a priority, a number of attempts or a timeout that no store would keep. Null is fine: it means the default.

create or replace function kinfolk.require_policy(priority integer, max_attempts integer, timeout_us bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if abs(priority) > kinfolk.priority_abs_max() then
        perform kinfolk.refuse('KF001', format('priority %s is out of range', priority),
            format('it must be within ±%s', kinfolk.priority_abs_max()));
    elsif max_attempts not between 1 and kinfolk.attempts_max() then
        perform kinfolk.refuse('KF001', format('max_attempts is %s', max_attempts),
            format('it must be 1 to %s', kinfolk.attempts_max()));
    elsif timeout_us not between 1 and kinfolk.timeout_max_us() then
        perform kinfolk.refuse('KF001', format('the timeout of %s is out of range', kinfolk.span(timeout_us)),
            'it must be more than zero and at most a year');
    end if;
end
$$;
