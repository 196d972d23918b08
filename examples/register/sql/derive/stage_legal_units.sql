-- Writes the statistical units of legal units into the staging table: their own rows, with the figures of their establishments, which are
-- staged already. What is added and taken away on each day is summed up along the time, so a large unit costs no more than its slices.
-- `stage_enterprises` sums up in the same way, each in one statement: nothing is put down in between.
-- Locks nothing. Reads primary keys, and `statistical_unit_staging_enterprise`.

create function register.stage_legal_units(legal_units integer[], enterprises integer[]) returns void
language sql
set enable_nestloop = off
set jit = off
as $$
    with own as materialized (
        select * from register.timeline('{}', legal_units)
    ),
    step as (
        select o.unit_id, o.valid_from as day, o.employees::bigint as employees, o.turnover, 0 as parts
        from own o
        union all
        select o.unit_id, o.valid_until, -o.employees, -o.turnover, 0
        from own o
        union all
        select e.legal_unit_id, s.day, s.sign * e.employees, s.sign * e.turnover, s.sign
        from register.statistical_unit_staging e
        cross join lateral (values (e.valid_from, 1), (e.valid_until, -1)) as s(day, sign)
        where e.enterprise_id = any (enterprises)
            and e.unit_type = 'establishment'
            and e.valid_from is not null
    ),
    slice as (
        select s.unit_id, s.day, lead(s.day) over unit as next_day, sum(sum(s.employees)) over unit as employees,
            sum(sum(s.turnover)) over unit as turnover, sum(sum(s.parts)) over unit as parts
        from step s
        group by s.unit_id, s.day
        window unit as (partition by s.unit_id order by s.day)
    )
    insert into register.statistical_unit_staging
    select 'legal_unit', s.unit_id, s.day, s.next_day, o.parent_id, s.unit_id, o.name, o.legal_form, o.region, o.activity, s.employees,
        s.turnover, s.parts,
        lag(s.unit_id) over unit is null,
        lead(s.unit_id) over unit is null and s.next_day < 'infinity',
        lag(s.unit_id) over unit is not null
            and (lag(o.region) over unit, lag(o.activity) over unit, lag(o.legal_form) over unit)
                is distinct from (o.region, o.activity, o.legal_form)
    from slice s
    join own o on o.unit_id = s.unit_id and s.day >= o.valid_from and s.day < o.valid_until
    window unit as (partition by s.unit_id order by s.day)
$$;
