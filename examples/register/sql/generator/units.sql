-- The units of a register of a given size, as rows of its tables. Three in eight are enterprises, somewhat more are legal units, the rest
-- are establishments. Of the legal units, 3 % have moved to another enterprise in a merger, and a quarter has changed its region or activity once.

create function register.made_enterprises(units integer, seed integer)
returns table (id integer, valid_from date, valid_until date, name text)
language sql stable
as $$
    select e, l.born, l.dead, 'Enterprise ' || e
    from generate_series(1, units * 363 / 1000) e
    cross join lateral register.draw_life(seed, e, 10) l
$$;

create function register.made_legal_units(units integer, seed integer)
returns table (
    id integer, valid_from date, valid_until date, enterprise_id integer, name text, legal_form integer, region integer, activity integer
)
language sql stable
as $$
    select u.id, s.valid_from, s.valid_until,
        case when s.nth = 2 and u.merges then greatest(1, u.home - 1 - floor(20 * register.draw(seed, u.id, 25))::integer) else u.home end,
        'Legal unit ' || u.id, u.legal_form,
        case when s.nth = 2 then register.draw_region(seed, u.id, 31) else register.draw_region(seed, u.id, 33) end,
        case when s.nth = 2 and register.draw(seed, u.id, 35) < 0.5
            then register.draw_activity(seed, u.id, 36) else register.draw_activity(seed, u.id, 38) end
    from (
        select n as id,
            -- The few that are more than there are enterprises belong to large ones.
            case when n <= e.many then n
                else 1 + (floor(e.many * power(register.draw(seed, n, 20), 3) * 0.05)::bigint * 7919 % e.many)::integer end as home,
            register.draw(seed, n, 21) < 0.03 as merges,
            register.draw(seed, n, 22) < 0.25 as moves,
            1 + floor(5 * power(register.draw(seed, n, 23), 2))::integer as legal_form,
            l.born, l.dead,
            (date_trunc('year', l.born) + make_interval(years => 1 + floor(4 * register.draw(seed, n, 24))::integer))::date as turn
        from (select greatest(1, units * 363 / 1000) as many) e
        cross join lateral generate_series(1, units * 366 / 1000) n
        cross join lateral register.draw_life(seed, least(n, e.many), 10) l
    ) u
    cross join lateral (
        select 1 as nth, u.born as valid_from, case when (u.merges or u.moves) and u.turn < u.dead then u.turn else u.dead end as valid_until
        union all
        select 2, u.turn, u.dead where (u.merges or u.moves) and u.turn < u.dead
    ) s
$$;

create function register.made_establishments(units integer, seed integer)
returns table (id integer, valid_from date, valid_until date, legal_unit_id integer, name text, region integer, activity integer)
language sql stable
as $$
    select e.id, e.born, e.dead, e.home, 'Establishment ' || e.id, register.draw_region(seed, e.id, 61), register.draw_activity(seed, e.id, 63)
    from (
        select n as id, l.born, l.dead,
            -- One in five belongs to one of the large units, which are spread over all numbers.
            case when register.draw(seed, n, 50) < 0.2
                then 1 + (floor(u.many * power(register.draw(seed, n, 51), 3))::bigint * 7919 % u.many)::integer
                else 1 + (n::bigint * u.many / (u.rest + 1))::integer end as home
        from (select units * 366 / 1000 as many, units - units * 363 / 1000 - units * 366 / 1000 as rest) u
        cross join lateral generate_series(1, u.rest) n
        cross join lateral register.draw_life(seed, n, 52) l
    ) e
$$;

-- The figures: those of a year stay until another year has others.
create function register.made_figures(units integer, seed integer)
returns table (unit_type register.unit_type, unit_id integer, valid_from date, valid_until date, employees integer, turnover bigint)
language sql stable
as $$
    select f.unit_type, f.unit_id, f.valid_from, 'infinity'::date, f.employees,
        f.employees * (50 + floor(900 * register.draw(seed, f.unit_id, f.question + 1))::bigint)
    from (
        select u.unit_type, u.unit_id, y.valid_from, y.question, register.draw_size(seed, u.unit_id, y.question) as employees
        from (
            select 'establishment'::register.unit_type as unit_type, e.id as unit_id, min(e.valid_from) as born, 0.25 as moves
            from register.made_establishments(units, seed) e group by e.id
            union all
            select 'legal_unit', l.id, min(l.valid_from), 0.1 from register.made_legal_units(units, seed) l group by l.id
        ) u
        cross join lateral (
            select u.born as valid_from, 100 as question
            union all
            select make_date(2018 + y, 1, 1), 100 + 3 * y
            from generate_series(1, 7) y
            where make_date(2018 + y, 1, 1) > u.born and register.draw(seed, u.unit_id, 102 + 3 * y) < u.moves
        ) y
    ) f
$$;
