-- Replaces the rows of each staged unit in statistical_unit, as far as they differ, and leaves the difference, signed and summed up by
-- partition and span, in the temporary table `merged`. Answers how many rows came and went.
-- Locks the rows that go. Reads the primary key of statistical_unit where little is staged, and both tables once where much is.

create function register.merge_staged() returns jsonb
language plpgsql
set jit = off
set client_min_messages = warning
as $$
declare
    v_gone bigint;
    v_come bigint;
begin
    drop table if exists pg_temp.merged;
    create temporary table merged on commit drop as
    select s.unit_type, 0 as slot, s.valid_from, s.valid_until, s.units, s.births, s.deaths, s.changes, s.employees, s.turnover
    from register.statistical_unit_span s
    limit 0;
    with gone as (
        delete from register.statistical_unit u
        using (select distinct s.unit_type, s.unit_id from register.statistical_unit_staging s) t
        where u.unit_type = t.unit_type
            and u.unit_id = t.unit_id
            and not exists (
                select
                from register.statistical_unit_staging s
                where s.unit_type = u.unit_type and s.unit_id = u.unit_id and s.valid_from = u.valid_from
                    and row(s.*) is not distinct from row(u.*))
        returning u.*
    )
    insert into pg_temp.merged
    select g.unit_type, register.slot(g.unit_id), g.valid_from, g.valid_until, -count(*), -count(*) filter (where g.is_birth),
        -count(*) filter (where g.is_death), -count(*) filter (where g.is_change), -sum(g.employees), -sum(g.turnover)
    from gone g
    group by 1, 2, 3, 4;
    with come as (
        insert into register.statistical_unit
        select s.*
        from register.statistical_unit_staging s
        where s.valid_from is not null
        -- Those that are as they were. To ask for them by a join is a risk: a plan that believes the table to be empty looks
        -- through what it inserts again and again.
        on conflict (unit_type, unit_id, valid_from) do nothing
        returning *
    )
    insert into pg_temp.merged
    select c.unit_type, register.slot(c.unit_id), c.valid_from, c.valid_until, count(*), count(*) filter (where c.is_birth),
        count(*) filter (where c.is_death), count(*) filter (where c.is_change), sum(c.employees), sum(c.turnover)
    from come c
    group by 1, 2, 3, 4;
    select -sum(m.units) filter (where m.units < 0), sum(m.units) filter (where m.units > 0) into v_gone, v_come from pg_temp.merged m;
    return jsonb_build_object('gone', coalesce(v_gone, 0), 'come', coalesce(v_come, 0));
end
$$;
