-- Adds the difference between what the counted partitions amount to and what they amounted to before to the facets, marks the periods
-- in which it counts, and keeps the new counts for the next time. Answers how many facets are different.
-- Locks the marks of the partitions, then facets, then periods; all in the order of their keys. Reads the primary key of
-- `statistical_unit_facet_partial`, `statistical_unit_facet_staging_slot` and the primary key of the facets.

create function register.reduce_facets() returns bigint
language plpgsql
set jit = off
set client_min_messages = warning
as $$
declare
    v_facets bigint;
begin
    drop table if exists pg_temp.counted, pg_temp.changed, pg_temp.difference;
    create temporary table counted on commit drop as
    select s.unit_type, s.slot
    from register.staged_partition s
    join register.statistical_unit_facet_dirty_partitions d using (unit_type, slot, mark)
    order by s.unit_type, s.slot
    for update of d;
    create temporary table changed on commit drop as
    select d.unit_type, d.slot, d.valid_from, d.valid_until, d.county, d.division, d.legal_form, sum(d.units)::bigint as units,
        sum(d.births)::bigint as births, sum(d.deaths)::bigint as deaths, sum(d.changes)::bigint as changes,
        sum(d.employees)::bigint as employees, sum(d.turnover)::bigint as turnover
    from (
        select s.* from register.statistical_unit_facet_staging s join pg_temp.counted c using (unit_type, slot)
        union all
        select p.unit_type, p.slot, p.valid_from, p.valid_until, p.county, p.division, p.legal_form, -p.units, -p.births, -p.deaths,
            -p.changes, -p.employees, -p.turnover
        from register.statistical_unit_facet_partial p
        join pg_temp.counted c using (unit_type, slot)
    ) d
    group by d.unit_type, d.slot, d.valid_from, d.valid_until, d.county, d.division, d.legal_form
    having (sum(d.units), sum(d.births), sum(d.deaths), sum(d.changes), sum(d.employees), sum(d.turnover)) <> (0, 0, 0, 0, 0, 0);
    create temporary table difference on commit drop as
    select d.unit_type, d.valid_from, d.valid_until, d.county, d.division, d.legal_form, sum(d.units)::bigint as units,
        sum(d.births)::bigint as births, sum(d.deaths)::bigint as deaths, sum(d.changes)::bigint as changes,
        sum(d.employees)::bigint as employees, sum(d.turnover)::bigint as turnover
    from pg_temp.changed d
    group by d.unit_type, d.valid_from, d.valid_until, d.county, d.division, d.legal_form;
    get diagnostics v_facets = row_count;
    analyze pg_temp.changed, pg_temp.difference;
    perform register.keep_partials();
    truncate register.statistical_unit_facet_staging, register.staged_partition;
    delete from register.statistical_unit_facet_dirty_partitions d
    using pg_temp.counted c
    where d.unit_type = c.unit_type and d.slot = c.slot;
    perform register.add_difference();
    return v_facets;
end
$$;

-- Adds the temporary table `changed` to what the counted partitions amount to. All other rows stay as they are.
create function register.keep_partials() returns void
language plpgsql
set jit = off
as $$
begin
    insert into register.statistical_unit_facet_partial as p
    select * from pg_temp.changed c
    order by c.unit_type, c.slot, c.valid_from, c.valid_until, c.county, c.division, c.legal_form
    on conflict (unit_type, slot, valid_from, valid_until, county, division, legal_form) do update set
        units = p.units + excluded.units,
        births = p.births + excluded.births,
        deaths = p.deaths + excluded.deaths,
        changes = p.changes + excluded.changes,
        employees = p.employees + excluded.employees,
        turnover = p.turnover + excluded.turnover;
    delete from register.statistical_unit_facet_partial p
    using pg_temp.changed c
    where (p.unit_type, p.slot, p.valid_from, p.valid_until, p.county, p.division, p.legal_form)
            = (c.unit_type, c.slot, c.valid_from, c.valid_until, c.county, c.division, c.legal_form)
        -- Only a row that lost units can have none left.
        and c.units < 0
        and p.units = 0;
end
$$;
