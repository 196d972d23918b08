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
        and f.units = 0;
    with span as (
        select distinct d.valid_from, d.valid_until from pg_temp.difference d
    ),
    dirty as (
        select p.resolution, p.valid_from
        from register.period p
        where exists (select from span s where s.valid_from < p.valid_until and s.valid_until >= p.valid_from)
        order by p.resolution, p.valid_from
        for update
    )
    update register.period p
    set facet_dirty = true
    from dirty d
    where p.resolution = d.resolution and p.valid_from = d.valid_from;
end
$$;
