-- Writes the statistical units of establishments into the staging table. The group of an establishment is the enterprise of its legal unit
-- on the first day of the slice; where that has none on that day, the lowest that it ever has.
-- Locks nothing. Reads primary keys.

create function register.stage_establishments(establishments integer[], legal_units integer[]) returns void
language sql
set enable_nestloop = off
set jit = off
as $$
    with owner as materialized (
        select l.id, l.enterprise_id, l.valid_from,
            least(l.valid_until, lead(l.valid_from) over (partition by l.id order by l.valid_from)) as valid_until,
            min(l.enterprise_id) over (partition by l.id) as lowest
        from register.legal_unit l
        where l.id = any (legal_units)
    ),
    lowest as (
        select distinct o.id, o.lowest from owner o
    )
    insert into register.statistical_unit_staging
    select t.unit_type, t.unit_id, t.valid_from, t.valid_until, coalesce(o.enterprise_id, w.lowest), t.parent_id, t.name,
        0, t.region, t.activity, t.employees, t.turnover, 0,
        lag(t.unit_id) over unit is null,
        lead(t.unit_id) over unit is null and t.valid_until < 'infinity',
        lag(t.unit_id) over unit is not null
            and (lag(t.region) over unit, lag(t.activity) over unit) is distinct from (t.region, t.activity)
    from register.timeline(establishments, '{}') t
    join lowest w on w.id = t.parent_id
    left join owner o on o.id = t.parent_id and t.valid_from >= o.valid_from and t.valid_from < o.valid_until
    window unit as (partition by t.unit_id order by t.valid_from)
$$;
