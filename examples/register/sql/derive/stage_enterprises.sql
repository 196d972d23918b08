-- Writes the statistical units of enterprises into the staging table: the figures of their legal units, which are staged already, and the
-- region, activity and legal form of the leading one, which is the one with the lowest number on that day.
-- Locks nothing. Reads primary keys, and `statistical_unit_staging_enterprise`.

create function register.stage_enterprises(enterprises integer[], legal_units integer[]) returns void
language sql
set enable_nestloop = off
set jit = off
as $$
    with own as materialized (
        select * from register.timeline_enterprise e where e.unit_id = any (enterprises)
    ),
    member as materialized (
        select l.id, l.enterprise_id, l.legal_form, l.region, l.activity, l.valid_from,
            least(l.valid_until, lead(l.valid_from) over (partition by l.id order by l.valid_from)) as valid_until
        from register.legal_unit l
        where l.id = any (legal_units)
    ),
    step as (
        select o.unit_id, d.day, 0::bigint as employees, 0::bigint as turnover, 0 as parts
        from own o
        cross join lateral (values (o.valid_from), (o.valid_until)) as d(day)
        union all
        select u.enterprise_id, s.day, s.sign * u.employees, s.sign * u.turnover, s.sign
        from register.statistical_unit_staging u
        cross join lateral (values (u.valid_from, 1), (u.valid_until, -1)) as s(day, sign)
        where u.enterprise_id = any (enterprises)
            and u.unit_type = 'legal_unit'
            and u.valid_from is not null
    ),
    slice as (
        select s.unit_id, s.day, lead(s.day) over unit as next_day, sum(sum(s.employees)) over unit as employees,
            sum(sum(s.turnover)) over unit as turnover, sum(sum(s.parts)) over unit as parts
        from step s
        group by s.unit_id, s.day
        window unit as (partition by s.unit_id order by s.day)
    ),
    led as (
        select distinct on (s.unit_id, s.day) s.*, o.name, coalesce(m.legal_form, 0) as legal_form, coalesce(m.region, 0) as region,
            coalesce(m.activity, 0) as activity
        from slice s
        join own o on o.unit_id = s.unit_id and s.day >= o.valid_from and s.day < o.valid_until
        left join member m on m.enterprise_id = s.unit_id and s.day >= m.valid_from and s.day < m.valid_until
        order by s.unit_id, s.day, m.id
    )
    insert into register.statistical_unit_staging
    select 'enterprise', l.unit_id, l.day, l.next_day, l.unit_id, null, l.name, l.legal_form, l.region, l.activity, l.employees, l.turnover,
        l.parts,
        lag(l.unit_id) over unit is null,
        lead(l.unit_id) over unit is null and l.next_day < 'infinity',
        lag(l.unit_id) over unit is not null
            and (lag(l.region) over unit, lag(l.activity) over unit, lag(l.legal_form) over unit)
                is distinct from (l.region, l.activity, l.legal_form)
    from led l
    window unit as (partition by l.unit_id order by l.day)
$$;
