-- The proof: every derived table is what it would be if it were derived from nothing, row by row, and nothing is left over on the way. A row
-- for each difference; none where all is well. Call it when nothing is being derived: it uses the staging table, and empties it again.

create function register.check_derived() returns table (subject text, differences bigint)
language plpgsql
set jit = off
as $$
begin
    return query select * from register.check_left_over() c where c.differences > 0;
    perform register.refresh_units(array(select e.id from register.enterprise e union select l.enterprise_id from register.legal_unit l));
    return query
    select 'statistical_unit', count(*)
    from (select * from register.statistical_unit_staging s where s.valid_from is not null) s
    full join register.statistical_unit u using (unit_type, unit_id, valid_from)
    where row(s.*) is distinct from row(u.*)
    having count(*) > 0;
    delete from register.statistical_unit_staging;
    return query
    select 'statistical_unit_span', count(*)
    from (
        select u.unit_type, u.valid_from, u.valid_until, count(*) as units, count(*) filter (where u.is_birth) as births,
            count(*) filter (where u.is_death) as deaths, count(*) filter (where u.is_change) as changes, sum(u.employees) as employees,
            sum(u.turnover) as turnover
        from register.statistical_unit u
        group by u.unit_type, u.valid_from, u.valid_until
    ) n
    full join register.statistical_unit_span s using (unit_type, valid_from, valid_until)
    where row(n.*) is distinct from row(s.*)
    having count(*) > 0;
    return query
    select 'statistical_unit_facet', count(*)
    from (
        select u.unit_type, u.valid_from, u.valid_until, u.region / 100 as county, u.activity / 100 as division, u.legal_form,
            count(*) as units, count(*) filter (where u.is_birth) as births, count(*) filter (where u.is_death) as deaths,
            count(*) filter (where u.is_change) as changes, sum(u.employees) as employees, sum(u.turnover) as turnover
        from register.statistical_unit u
        group by u.unit_type, u.valid_from, u.valid_until, u.region / 100, u.activity / 100, u.legal_form
    ) n
    full join register.statistical_unit_facet f using (unit_type, valid_from, valid_until, county, division, legal_form)
    where row(n.*) is distinct from row(f.*)
    having count(*) > 0;
    return query select * from register.check_history() c where c.differences > 0;
end
$$;

-- The history and its facets, counted from the units, day by day, with no help from what lies between.
create function register.check_history() returns table (subject text, differences bigint)
language sql stable
as $$
    with counted as materialized (
        select p.resolution, p.valid_from as period, u.unit_type, u.region / 100 as county, u.activity / 100 as division, u.legal_form,
            count(*) filter (where u.valid_from < p.valid_until and u.valid_until >= p.valid_until) as units,
            count(*) filter (where u.is_birth and u.valid_from >= p.valid_from) as births,
            count(*) filter (where u.is_death and u.valid_until < p.valid_until) as deaths,
            count(*) filter (where u.is_change and u.valid_from >= p.valid_from) as changes,
            coalesce(sum(u.employees) filter (where u.valid_from < p.valid_until and u.valid_until >= p.valid_until), 0) as employees,
            coalesce(sum(u.turnover) filter (where u.valid_from < p.valid_until and u.valid_until >= p.valid_until), 0) as turnover
        from register.period p
        join register.statistical_unit u on u.valid_from < p.valid_until and u.valid_until >= p.valid_from
        group by p.resolution, p.valid_from, u.unit_type, u.region / 100, u.activity / 100, u.legal_form
    )
    select 'statistical_history_facet', count(*)
    from counted c
    full join register.statistical_history_facet h using (resolution, period, unit_type, county, division, legal_form)
    where row(c.*) is distinct from row(h.*)
    union all
    select 'statistical_history', count(*)
    from (
        select c.resolution, c.period, c.unit_type, sum(c.units)::bigint as units, sum(c.births)::bigint as births,
            sum(c.deaths)::bigint as deaths, sum(c.changes)::bigint as changes, sum(c.employees) as employees, sum(c.turnover) as turnover
        from counted c
        group by c.resolution, c.period, c.unit_type
    ) c
    full join register.statistical_history h using (resolution, period, unit_type)
    where row(c.*) is distinct from row(h.*)
$$;

-- What must be empty when nothing is being derived.
create function register.check_left_over() returns table (subject text, differences bigint)
language sql stable
as $$
    select 'base_change_log', count(*) from register.base_change_log
    union all select 'base_change_log_has_pending', count(*) from register.base_change_log_has_pending
    union all select 'statistical_unit_staging', count(*) from register.statistical_unit_staging
    union all select 'derive_batch', count(*) from register.derive_batch
    union all select 'staged_batch', count(*) from register.staged_batch
    union all select 'dirty partitions', count(*) from register.statistical_unit_facet_dirty_partitions
    union all select 'statistical_unit_facet_staging', count(*) from register.statistical_unit_facet_staging
    union all select 'dirty periods', count(*) from register.period p where p.history_dirty or p.facet_dirty
    union all select 'missing periods', count(*)
        from generate_series(date '2019-01-01', register.today(), interval '1 month') m
        where not exists (select from register.period p where p.resolution = 'year-month' and p.valid_from = m)
$$;
