-- Refuses the rule or the time-out of a fan-out that no store would keep.
create or replace function kinfolk.require_terms(p_rule text, p_share numeric, p_timeout interval) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(p_rule not in ('fail_fast', 'collect_all', 'threshold'), true) then
        raise exception using errcode = 'KF001', message = format('unknown rule %L', p_rule),
            hint = 'there are: fail_fast, collect_all, threshold';
    elsif p_rule = 'threshold' and coalesce(p_share not between 0 and 1, true) then
        raise exception using errcode = 'KF001', message = format('a threshold of %s is out of range', coalesce(p_share::text, 'null')),
            hint = 'say with share which part must complete, from 0 to 1';
    elsif p_rule <> 'threshold' and p_share is not null then
        raise exception using errcode = 'KF001', message = format('a share of %s with the rule %s', p_share, p_rule),
            hint = 'leave it out, or write rule => ''threshold''';
    elsif kinfolk.micros(p_timeout) not between 0 and kinfolk.delay_max_us() then
        raise exception using errcode = 'KF001', message = format('a timeout of %s is out of range', p_timeout),
            hint = 'it must be at most ten years';
    end if;
end
$$;
