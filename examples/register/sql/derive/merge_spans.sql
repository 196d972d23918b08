-- Adds the difference that a flush made to the spans, and marks the periods whose figures it changes.
-- Locks spans, then periods, in the order of their keys. Reads their primary keys.

create function register.merge_spans() returns void
language plpgsql
set jit = off
as $$
declare
    v_spans register.statistical_unit_span[];
begin
    v_spans := array(
        select (m.unit_type, m.valid_from, m.valid_until, sum(m.units), sum(m.births), sum(m.deaths), sum(m.changes), sum(m.employees),
            sum(m.turnover))::register.statistical_unit_span
        from pg_temp.merged m
        group by m.unit_type, m.valid_from, m.valid_until
        having (sum(m.units), sum(m.births), sum(m.deaths), sum(m.changes), sum(m.employees), sum(m.turnover)) <> (0, 0, 0, 0, 0, 0)
        order by m.unit_type, m.valid_from, m.valid_until);
    insert into register.statistical_unit_span as s
    select * from unnest(v_spans)
    on conflict (unit_type, valid_from, valid_until) do update set
        units = s.units + excluded.units,
        births = s.births + excluded.births,
        deaths = s.deaths + excluded.deaths,
        changes = s.changes + excluded.changes,
        employees = s.employees + excluded.employees,
        turnover = s.turnover + excluded.turnover;
    delete from register.statistical_unit_span s
    using unnest(v_spans) as d
    where (s.unit_type, s.valid_from, s.valid_until) = (d.unit_type, d.valid_from, d.valid_until)
        and s.units = 0;

    with dirty as (
        select p.resolution, p.valid_from
        from register.period p
        where (p.resolution, p.valid_from) in (select c.resolution, c.valid_from from register.changed_periods(v_spans) c)
        order by p.resolution, p.valid_from
        for update
    )
    update register.period p
    set history_dirty = true
    from dirty d
    where p.resolution = d.resolution and p.valid_from = d.valid_from;
end
$$;

-- The periods whose figures these differences change. A slice that only ends earlier and goes on as another one changes nothing before.
create function register.changed_periods(differences register.statistical_unit_span[])
returns table (resolution text, valid_from date)
language sql stable
as $$
    select p.resolution, p.valid_from
    from register.period p
    join unnest(differences) d on d.valid_from < p.valid_until and d.valid_until >= p.valid_from
    group by p.resolution, p.valid_from, d.unit_type
    having (
        -- A row with zeros only is there as long as a span reaches into the period.
        sum(d.units),
        coalesce(sum(d.units) filter (where d.valid_until >= p.valid_until), 0),
        coalesce(sum(d.births) filter (where d.valid_from >= p.valid_from), 0),
        coalesce(sum(d.deaths) filter (where d.valid_until < p.valid_until), 0),
        coalesce(sum(d.changes) filter (where d.valid_from >= p.valid_from), 0),
        coalesce(sum(d.employees) filter (where d.valid_until >= p.valid_until), 0),
        coalesce(sum(d.turnover) filter (where d.valid_until >= p.valid_until), 0)) <> (0, 0, 0, 0, 0, 0, 0)
$$;

-- Marks the partitions in which the flush has changed something.
create function register.mark_partitions() returns void
language plpgsql
as $$
begin
    insert into register.statistical_unit_facet_dirty_partitions (unit_type, slot, mark)
    select m.unit_type, m.slot, nextval('register.dirty_mark')
    from (select distinct m.unit_type, m.slot from pg_temp.merged m order by 1, 2) m
    on conflict (unit_type, slot) do update set mark = excluded.mark;
end
$$;
