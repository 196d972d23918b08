-- Chance that can be repeated: the same seed, unit and question always have the same answer.

-- At least 0 and less than 1.
create function register.draw(seed integer, unit integer, question integer) returns double precision
language sql immutable parallel safe
as $$
    select (hashint8extended(unit::bigint * 1000 + question, seed) & 1048575) / 1048576.0::double precision
$$;

-- A region: county 1 has most of them.
create function register.draw_region(seed integer, unit integer, question integer) returns integer
language sql immutable parallel safe
as $$
    select (1 + floor(15 * power(register.draw(seed, unit, question), 1.7)))::integer * 100
        + (1 + floor(20 * power(register.draw(seed, unit, question + 1), 1.5)))::integer
$$;

create function register.draw_activity(seed integer, unit integer, question integer) returns integer
language sql immutable parallel safe
as $$
    select (10 + floor(20 * power(register.draw(seed, unit, question), 1.5)))::integer * 100
        + (1 + floor(5 * register.draw(seed, unit, question + 1)))::integer
$$;

-- The first day of a quarter of the years that are generated. Most units are older than those: they begin on the first day.
create function register.draw_quarter(seed integer, unit integer, question integer) returns date
language sql immutable parallel safe
as $$
    select (date '2019-01-01' + make_interval(months => 3 * floor(30 * register.draw(seed, unit, question))::integer))::date
$$;

-- When a unit began, and when it will have ended. An end is a year after the beginning at the earliest.
create function register.draw_life(seed integer, unit integer, question integer, out born date, out dead date)
language sql immutable parallel safe
as $$
    select b.born, case when register.draw(seed, unit, question + 2) < 0.12
        then (b.born + make_interval(months => 12 + 3 * floor(16 * register.draw(seed, unit, question + 3))::integer))::date
        else 'infinity' end
    from (
        select case when register.draw(seed, unit, question) < 0.6 then '2019-01-01'
            else register.draw_quarter(seed, unit, question + 1) end as born
    ) b
$$;

-- How large a unit is, by a skewed law: one in a hundred has more than a hundred employees.
create function register.draw_size(seed integer, unit integer, question integer) returns integer
language sql immutable parallel safe
as $$
    select least(20000, floor(power(1 - register.draw(seed, unit, question), -1.05)))::integer
$$;
