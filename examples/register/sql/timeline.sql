-- The timelines: for each unit the slices in which neither its own row nor its own figures change. A slice ends where it says, or where the
-- next slice of the unit begins. The function is for batches: it reads the units it is given by their primary keys, and nothing else.
-- The views are for people, and cost the same for one unit.

create function register.timeline(establishments integer[], legal_units integer[])
returns table (
    unit_type register.unit_type, unit_id integer, valid_from date, valid_until date, parent_id integer, name text, legal_form integer,
    region integer, activity integer, employees integer, turnover bigint
)
language sql stable
as $$
    with own as materialized (
        select u.*, least(u.ends, lead(u.valid_from) over (partition by u.unit_type, u.unit_id order by u.valid_from)) as valid_until
        from (
            select 'establishment'::register.unit_type as unit_type, e.id as unit_id, e.valid_from, e.valid_until as ends,
                e.legal_unit_id as parent_id, e.name, 0 as legal_form, e.region, e.activity
            from register.establishment e
            where e.id = any (establishments)
            union all
            select 'legal_unit', l.id, l.valid_from, l.valid_until, l.enterprise_id, l.name, l.legal_form, l.region, l.activity
            from register.legal_unit l
            where l.id = any (legal_units)
        ) u
    ),
    figure as materialized (
        select f.*, least(f.ends, lead(f.valid_from) over (partition by f.unit_type, f.unit_id order by f.valid_from)) as valid_until
        from (
            select f.unit_type, f.unit_id, f.valid_from, f.valid_until as ends, f.employees, f.turnover
            from register.figure f
            where f.unit_type = 'establishment' and f.unit_id = any (establishments)
            union all
            select f.unit_type, f.unit_id, f.valid_from, f.valid_until, f.employees, f.turnover
            from register.figure f
            where f.unit_type = 'legal_unit' and f.unit_id = any (legal_units)
        ) f
    ),
    slice as (
        select d.unit_type, d.unit_id, d.day, lead(d.day) over (partition by d.unit_type, d.unit_id order by d.day) as next_day
        from (
            select o.unit_type, o.unit_id, o.valid_from as day from own o
            union select o.unit_type, o.unit_id, o.valid_until from own o
            union select f.unit_type, f.unit_id, f.valid_from from figure f
            union select f.unit_type, f.unit_id, f.valid_until from figure f
        ) d
    )
    select s.unit_type, s.unit_id, s.day, s.next_day, o.parent_id, o.name, o.legal_form, o.region, o.activity,
        coalesce(f.employees, 0), coalesce(f.turnover, 0)
    from slice s
    join own o on o.unit_type = s.unit_type and o.unit_id = s.unit_id and s.day >= o.valid_from and s.day < o.valid_until
    left join figure f on f.unit_type = s.unit_type and f.unit_id = s.unit_id and s.day >= f.valid_from and s.day < f.valid_until
$$;

create view register.timeline_establishment as
select t.unit_id, t.valid_from, t.valid_until, t.parent_id as legal_unit_id, t.name, t.region, t.activity, t.employees, t.turnover
from (select distinct e.id from register.establishment e) e
cross join lateral register.timeline(array[e.id], '{}') t;

create view register.timeline_legal_unit as
select t.unit_id, t.valid_from, t.valid_until, t.parent_id as enterprise_id, t.name, t.legal_form, t.region, t.activity, t.employees,
    t.turnover
from (select distinct l.id from register.legal_unit l) l
cross join lateral register.timeline('{}', array[l.id]) t;

-- An enterprise has no figures of its own.
create view register.timeline_enterprise as
select e.id as unit_id, e.valid_from,
    least(e.valid_until, lead(e.valid_from) over (partition by e.id order by e.valid_from)) as valid_until, e.name
from register.enterprise e;
