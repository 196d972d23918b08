-- ⑦ The parent: a child for each period in which the facets have changed.
-- Locks nothing. Reads all periods, a hundred or so.

create function register.derive_statistical_history_facet(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_periods bigint;
begin
    select count(kinfolk.spawn('derive_statistical_history_facet_period',
        jsonb_build_object('resolution', p.resolution, 'period', p.valid_from)))
    into v_periods
    from (select * from register.period p where p.facet_dirty order by p.resolution, p.valid_from) p;
    return jsonb_build_object('periods', v_periods);
end
$$;

create function register.derive_statistical_history_facet_period(payload jsonb) returns jsonb
language sql
as $$
    select register.refresh_history_facet(payload ->> 'resolution', (payload ->> 'period')::date)
$$;
