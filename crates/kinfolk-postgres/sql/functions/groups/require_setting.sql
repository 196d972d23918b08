-- Refuses a limit and a rate that no store would keep, as `kinfolk_core::group::Setting::check` does.
create or replace function kinfolk.require_setting(p_slots bigint, p_count bigint, p_per_us bigint, p_burst bigint)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_slots not between 0 and kinfolk.group_limit_max() then
        raise exception using errcode = 'KF001', message = format('a limit of %s is out of range', p_slots),
            hint = format('it may be %s at most', kinfolk.group_limit_max());
    end if;
    if num_nonnulls(p_count, p_per_us, p_burst) = 0 then
        return;
    end if;
    if num_nulls(p_count, p_per_us, p_burst) > 0 or p_count not between 1 and kinfolk.rate_max()
        or p_burst not between 1 and kinfolk.rate_max() or p_per_us not between 1000 and kinfolk.rate_span_max_us()
        or p_count > p_per_us
    then
        raise exception using errcode = 'KF001',
            message = format('a rate of %s per %s µs with a burst of %s is out of range', p_count, p_per_us, p_burst),
            hint = format('count and burst must be 1 to %s, the span 1 millisecond to 31 days', kinfolk.rate_max());
    end if;
end
$$;
