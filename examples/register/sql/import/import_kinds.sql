-- The good lines of an import, from the temporary table `parsed` into the register. Of two lines about the same row the later one counts. A
-- slice that ends before it begins is for the check of the table, and is refused before: see import_job_process.
-- Locks the rows that are replaced, in the order of their keys. A function for each table, since the columns are all that they have.

create function register.import_enterprise() returns void
language plpgsql
as $$
begin
    insert into register.enterprise (id, valid_from, valid_until, name)
    select distinct on ((p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date) (p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date, coalesce((p.row ->> 'valid_until')::date, 'infinity'), p.row ->> 'name'
    from pg_temp.parsed p
    order by (p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date, p.line desc
    on conflict (id, valid_from) do update set
        valid_until = excluded.valid_until,
        name = excluded.name;
end
$$;

create function register.import_legal_unit() returns void
language plpgsql
as $$
begin
    insert into register.legal_unit (id, valid_from, valid_until, enterprise_id, name, legal_form, region, activity)
    select distinct on ((p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date) (p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date, coalesce((p.row ->> 'valid_until')::date, 'infinity'), (p.row ->> 'enterprise_id')::integer, p.row ->> 'name', (p.row ->> 'legal_form')::integer, (p.row ->> 'region')::integer, (p.row ->> 'activity')::integer
    from pg_temp.parsed p
    order by (p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date, p.line desc
    on conflict (id, valid_from) do update set
        valid_until = excluded.valid_until,
        enterprise_id = excluded.enterprise_id,
        name = excluded.name,
        legal_form = excluded.legal_form,
        region = excluded.region,
        activity = excluded.activity;
end
$$;

create function register.import_establishment() returns void
language plpgsql
as $$
begin
    insert into register.establishment (id, valid_from, valid_until, legal_unit_id, name, region, activity)
    select distinct on ((p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date) (p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date, coalesce((p.row ->> 'valid_until')::date, 'infinity'), (p.row ->> 'legal_unit_id')::integer, p.row ->> 'name', (p.row ->> 'region')::integer, (p.row ->> 'activity')::integer
    from pg_temp.parsed p
    order by (p.row ->> 'id')::integer, (p.row ->> 'valid_from')::date, p.line desc
    on conflict (id, valid_from) do update set
        valid_until = excluded.valid_until,
        legal_unit_id = excluded.legal_unit_id,
        name = excluded.name,
        region = excluded.region,
        activity = excluded.activity;
end
$$;

create function register.import_figure() returns void
language plpgsql
as $$
begin
    insert into register.figure (unit_type, unit_id, valid_from, valid_until, employees, turnover)
    select distinct on ((p.row ->> 'unit_type')::register.unit_type, (p.row ->> 'unit_id')::integer, (p.row ->> 'valid_from')::date) (p.row ->> 'unit_type')::register.unit_type, (p.row ->> 'unit_id')::integer, (p.row ->> 'valid_from')::date, coalesce((p.row ->> 'valid_until')::date, 'infinity'), (p.row ->> 'employees')::integer, (p.row ->> 'turnover')::bigint
    from pg_temp.parsed p
    order by (p.row ->> 'unit_type')::register.unit_type, (p.row ->> 'unit_id')::integer, (p.row ->> 'valid_from')::date, p.line desc
    on conflict (unit_type, unit_id, valid_from) do update set
        valid_until = excluded.valid_until,
        employees = excluded.employees,
        turnover = excluded.turnover;
end
$$;
