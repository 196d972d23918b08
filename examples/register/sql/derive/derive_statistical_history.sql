-- ⑤ The parent: a child for each period in which something has changed. The facets follow when all of them are done.
-- Locks nothing. Reads all periods, a hundred or so.

create function register.derive_statistical_history(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_periods bigint;
begin
    select count(kinfolk.spawn('derive_statistical_history_period', jsonb_build_object('resolution', p.resolution, 'period', p.valid_from)))
    into v_periods
    from (select * from register.period p where p.history_dirty order by p.resolution, p.valid_from) p;
    perform kinfolk.follow_up('derive_statistical_unit_facet', starts_when => 'completed');
    return jsonb_build_object('periods', v_periods);
end
$$;

create function register.derive_statistical_history_period(payload jsonb) returns jsonb
language plpgsql
as $$
begin
    perform register.refresh_history(payload ->> 'resolution', (payload ->> 'period')::date);
    return null;
end
$$;
