-- `slow_down` for a span from now.
create or replace function kinfolk.slow_down_for(group_name text, span interval) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(kinfolk.micros(span) not between 0 and kinfolk.delay_max_us(), true) then
        raise exception using errcode = 'KF001', message = format('span is %s', coalesce(span::text, 'null')),
            hint = 'it must be a span from now on, of at most ten years';
    end if;
    perform kinfolk.slow_down(group_name, kinfolk.clock() + span);
end
$$;
