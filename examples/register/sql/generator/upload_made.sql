-- Uploads the units that are made from a seed as CSV texts of at most 50,000 lines, as an office that delivers its files would. Answers how
-- many jobs there are.

create function register.upload_made(units integer, seed integer default 1) returns bigint
language plpgsql
as $$
declare
    v_jobs bigint;
begin
    select count(register.upload(f.kind, f.csv)) into v_jobs
    from (
        select l.kind, l.header || E'\n' || string_agg(l.line, E'\n' order by l.nth) as csv
        from (
            select 'enterprise' as kind, 1 as file, 'id,valid_from,valid_until,name' as header, row_number() over (order by e.id) as nth,
                format('%s,%s,%s,%s', e.id, e.valid_from, nullif(e.valid_until, 'infinity'), e.name) as line
            from register.made_enterprises(units, seed) e
            union all
            select 'legal_unit', 3, 'id,valid_from,valid_until,enterprise_id,name,legal_form,region,activity',
                row_number() over (order by l.id, l.valid_from), format('%s,%s,%s,%s,"%s",%s,%s,%s', l.id, l.valid_from,
                nullif(l.valid_until, 'infinity'), l.enterprise_id, l.name, l.legal_form, l.region, l.activity)
            from register.made_legal_units(units, seed) l
            union all
            select 'establishment', 4, 'id,valid_from,valid_until,legal_unit_id,name,region,activity', row_number() over (order by e.id),
                format('%s,%s,%s,%s,%s,%s,%s', e.id, e.valid_from, nullif(e.valid_until, 'infinity'), e.legal_unit_id, e.name, e.region,
                e.activity)
            from register.made_establishments(units, seed) e
            union all
            select 'figure', 5, 'unit_type,unit_id,valid_from,employees,turnover', row_number() over (order by f.unit_type, f.unit_id),
                concat_ws(',', f.unit_type, f.unit_id, f.valid_from, f.employees, f.turnover)
            from register.made_figures(units, seed) f
        ) l
        group by l.kind, l.file, l.header, (l.nth - 1) / 50000
        order by l.file
    ) f;
    return v_jobs;
end
$$;
