-- Adds the temporary table `difference` to the facets, and marks the periods in which it counts.
-- Locks facets, then periods, in the order of their keys. Reads the primary key of the facets.

create function register.add_difference() returns void
language plpgsql
set jit = off
as $$
begin
    insert into register.statistical_unit_facet as f
    select * from pg_temp.difference d
    order by d.unit_type, d.valid_from, d.valid_until, d.county, d.division, d.legal_form
    on conflict (unit_type, valid_from, valid_until, county, division, legal_form) do update set
        units = f.units + excluded.units,
        births = f.births + excluded.births,
        deaths = f.deaths + excluded.deaths,
        changes = f.changes + excluded.changes,
        employees = f.employees + excluded.employees,
        turnover = f.turnover + excluded.turnover;
    delete from register.statistical_unit_facet f
    using pg_temp.difference d
    where (f.unit_type, f.valid_from, f.valid_until, f.county, f.division, f.legal_form)
            = (d.unit_type, d.valid_from, d.valid_until, d.county, d.division, d.legal_form)
        and d.units < 0
        and f.units = 0;
    with dirty as (
        select p.resolution, p.valid_from
        from register.period p
        where (p.resolution, p.valid_from) in (select c.resolution, c.valid_from from register.changed_facet_periods() c)
        order by p.resolution, p.valid_from
        for update
    )
    update register.period p
    set facet_dirty = true
    from dirty d
    where p.resolution = d.resolution and p.valid_from = d.valid_from;
end
$$;

-- The periods whose facets the temporary table `difference` changes. Where it is large these are all that it reaches into: to find out
-- which stay as they are would cost more than to make them anew.
create function register.changed_facet_periods() returns table (resolution text, valid_from date)
language plpgsql
set jit = off
as $$
begin
    if (select count(*) from pg_temp.difference) > 20000 then
        return query
        select p.resolution, p.valid_from
        from register.period p
        where exists (
            select
            from (select distinct d.valid_from, d.valid_until from pg_temp.difference d) d
            where d.valid_from < p.valid_until and d.valid_until >= p.valid_from);
        return;
    end if;
    return query
    select distinct p.resolution, p.valid_from
    from register.period p
    join pg_temp.difference d on d.valid_from < p.valid_until and d.valid_until >= p.valid_from
    group by p.resolution, p.valid_from, p.valid_until, d.unit_type, d.county, d.division, d.legal_form
    having (
        -- A row with zeros only is there as long as a facet reaches into the period.
        sum(d.units),
        coalesce(sum(d.units) filter (where d.valid_until >= p.valid_until), 0),
        coalesce(sum(d.births) filter (where d.valid_from >= p.valid_from), 0),
        coalesce(sum(d.deaths) filter (where d.valid_until < p.valid_until), 0),
        coalesce(sum(d.changes) filter (where d.valid_from >= p.valid_from), 0),
        coalesce(sum(d.employees) filter (where d.valid_until >= p.valid_until), 0),
        coalesce(sum(d.turnover) filter (where d.valid_until >= p.valid_until), 0)) <> (0, 0, 0, 0, 0, 0, 0);
end
$$;
