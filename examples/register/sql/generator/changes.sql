-- Changes of a register that is there, from a seed: each kind as often as it is drawn. Every call is one change or a few, as a person or
-- an import makes them.

-- A share of all legal units reports other figures, from the first day of this month on.
create function register.report_figures(share double precision, seed integer) returns bigint
language sql
as $$
    with changed as (
        insert into register.figure as f (unit_type, unit_id, valid_from, employees, turnover)
        select 'legal_unit', l.id, date_trunc('month', register.today())::date, register.draw_size(seed, l.id, 200),
            1000 * register.draw_size(seed, l.id, 201)
        from (select distinct l.id from register.legal_unit l where register.draw(seed, l.id, 202) < share) l
        order by l.id
        on conflict (unit_type, unit_id, valid_from) do update set employees = excluded.employees, turnover = excluded.turnover
        returning 1
    )
    select count(*) from changed
$$;

-- One edit: a kind by name, on a unit by number. What there is not to do is not done.
create function register.edit(kind text, unit integer, day date) returns void
language plpgsql
as $$
begin
    case kind
        when 'move' then
            update register.legal_unit l set region = (l.region / 100 % 15 + 1) * 100 + l.region % 100 where l.id = unit;
        when 'merge' then
            -- From this day on it belongs to another enterprise.
            insert into register.legal_unit (id, valid_from, valid_until, enterprise_id, name, legal_form, region, activity)
            select l.id, day, l.valid_until, l.enterprise_id % 50 + 1, l.name, l.legal_form, l.region, l.activity
            from register.legal_unit l
            where l.id = unit and l.valid_from < day and l.valid_until > day
            order by l.valid_from desc
            limit 1
            on conflict (id, valid_from) do update set enterprise_id = excluded.enterprise_id;
        when 'rewrite' then
            -- It never belonged to any other enterprise than this.
            update register.legal_unit l set enterprise_id = unit % 70 + 1 where l.id = unit;
        when 'close' then
            update register.legal_unit l set valid_until = day where l.id = unit and l.valid_from < day and l.valid_until > day;
        when 'transfer' then
            update register.establishment e set legal_unit_id = unit % 60 + 1 where e.id = unit and e.valid_from >= day;
            insert into register.establishment (id, valid_from, legal_unit_id, name, region, activity)
            select e.id, day, unit % 40 + 1, e.name, e.region, e.activity
            from register.establishment e
            where e.id = unit and e.valid_from < day
            order by e.valid_from desc
            limit 1
            on conflict (id, valid_from) do update set legal_unit_id = excluded.legal_unit_id;
        when 'delete' then
            delete from register.establishment e where e.id = unit;
            delete from register.figure f where f.unit_type = 'establishment' and f.unit_id = unit;
        when 'dissolve' then
            delete from register.legal_unit l where l.id = unit;
        when 'vanish' then
            delete from register.enterprise e where e.id = unit;
        when 'found' then
            insert into register.enterprise (id, valid_from, name) values (unit + 100000, day, 'Founded ' || unit) on conflict do nothing;
            insert into register.legal_unit (id, valid_from, enterprise_id, name, legal_form, region, activity)
            values (unit + 100000, day, unit + 100000, 'Founded ' || unit, 2, 101, 1001) on conflict do nothing;
        when 'report' then
            insert into register.figure as f (unit_type, unit_id, valid_from, employees, turnover)
            values (case unit % 2 when 0 then 'legal_unit' else 'establishment' end::register.unit_type, unit, day, unit % 97, unit)
            on conflict (unit_type, unit_id, valid_from) do update set employees = f.employees + 1;
    end case;
end
$$;

-- One legal unit that is alive reports another number of employees, from the first day of this month on.
create function register.report_one() returns void
language sql
as $$
    insert into register.figure as f (unit_type, unit_id, valid_from, employees, turnover)
    select 'legal_unit', l.id, date_trunc('month', register.today())::date, 7, 7000
    from register.legal_unit l
    join register.enterprise e on e.id = l.enterprise_id
    where l.valid_until = 'infinity' and e.valid_until = 'infinity'
    order by l.id
    limit 1
    on conflict (unit_type, unit_id, valid_from) do update set employees = f.employees + 1
$$;
