-- Refuses limits that no store would keep. Null is fine: it means no limit.
create or replace function kinfolk.require_limits(p_family_limit integer, p_child_limit integer, p_depth_limit integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_family_limit < 1 then
        raise exception using errcode = 'KF001', message = format('a family_limit of %s would run nothing', p_family_limit),
            hint = 'pause the queue instead';
    elsif p_child_limit < 0 then
        raise exception using errcode = 'KF001', message = format('child_limit is %s', p_child_limit),
            hint = 'it must be 0 or more';
    elsif p_depth_limit not between 0 and kinfolk.depth_max() then
        raise exception using errcode = 'KF001', message = format('depth_limit is %s', p_depth_limit),
            hint = format('it must be 0 to %s', kinfolk.depth_max());
    end if;
end
$$;
