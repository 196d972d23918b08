-- The lifecycle triggers: one call for each statement, with the rows before and after it. A unit that moves touches the unit it leaves
-- and the unit it joins. Each function names the columns of its own table, so that no change pays for SQL that is put together.

create function register.enterprise_changed() returns trigger
language plpgsql
as $$
declare
    v_ids integer[];
begin
    if tg_op <> 'INSERT' then
        v_ids := array(select distinct o.id from old_rows o);
    end if;
    if tg_op <> 'DELETE' then
        v_ids := v_ids || array(select distinct n.id from new_rows n);
    end if;
    perform register.log_change('{}', '{}', register.ranges(v_ids));
    return null;
end
$$;

create function register.legal_unit_changed() returns trigger
language plpgsql
as $$
declare
    v_ids integer[];
    v_enterprises integer[];
begin
    if tg_op <> 'INSERT' then
        v_ids := array(select distinct o.id from old_rows o);
        v_enterprises := array(select distinct o.enterprise_id from old_rows o);
    end if;
    if tg_op <> 'DELETE' then
        v_ids := v_ids || array(select distinct n.id from new_rows n);
        v_enterprises := v_enterprises || array(select distinct n.enterprise_id from new_rows n);
    end if;
    perform register.log_change('{}', register.ranges(v_ids), register.ranges(v_enterprises));
    return null;
end
$$;

create function register.establishment_changed() returns trigger
language plpgsql
as $$
declare
    v_ids integer[];
    v_legal_units integer[];
begin
    if tg_op <> 'INSERT' then
        v_ids := array(select distinct o.id from old_rows o);
        v_legal_units := array(select distinct o.legal_unit_id from old_rows o);
    end if;
    if tg_op <> 'DELETE' then
        v_ids := v_ids || array(select distinct n.id from new_rows n);
        v_legal_units := v_legal_units || array(select distinct n.legal_unit_id from new_rows n);
    end if;
    perform register.log_change(register.ranges(v_ids), register.ranges(v_legal_units), '{}');
    return null;
end
$$;

create function register.figure_changed() returns trigger
language plpgsql
as $$
declare
    v_establishments integer[];
    v_legal_units integer[];
begin
    if tg_op <> 'INSERT' then
        v_establishments := array(select distinct o.unit_id from old_rows o where o.unit_type = 'establishment');
        v_legal_units := array(select distinct o.unit_id from old_rows o where o.unit_type = 'legal_unit');
    end if;
    if tg_op <> 'DELETE' then
        v_establishments := v_establishments || array(select distinct n.unit_id from new_rows n where n.unit_type = 'establishment');
        v_legal_units := v_legal_units || array(select distinct n.unit_id from new_rows n where n.unit_type = 'legal_unit');
    end if;
    perform register.log_change(register.ranges(v_establishments), register.ranges(v_legal_units), '{}');
    return null;
end
$$;

create function register.table_emptied() returns trigger
language plpgsql
as $$
begin
    perform register.log_change('{}', '{}', '{}', is_full => true);
    return null;
end
$$;

-- The same four triggers on each table.
do $$
declare
    v_table text;
begin
    foreach v_table in array array['enterprise', 'legal_unit', 'establishment', 'figure'] loop
        execute format('create trigger on_insert after insert on register.%I referencing new table as new_rows
            for each statement execute function register.%I()', v_table, v_table || '_changed');
        execute format('create trigger on_update after update on register.%I referencing old table as old_rows new table as new_rows
            for each statement execute function register.%I()', v_table, v_table || '_changed');
        execute format('create trigger on_delete after delete on register.%I referencing old table as old_rows
            for each statement execute function register.%I()', v_table, v_table || '_changed');
        execute format('create trigger on_truncate after truncate on register.%I
            for each statement execute function register.table_emptied()', v_table);
    end loop;
end
$$;
