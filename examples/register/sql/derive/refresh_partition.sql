-- Counts one partition of the facets into their staging table (the map), and notes at which mark. Answers how many rows that are.
-- Locks the partition's mark before it reads, so that a flush that changes it comes before or after. Reads a range of the primary key
-- of statistical_unit.

create function register.refresh_partition(p_unit_type register.unit_type, p_slot integer) returns bigint
language plpgsql
set jit = off
as $$
declare
    v_mark bigint;
    v_rows bigint;
begin
    select d.mark into v_mark
    from register.statistical_unit_facet_dirty_partitions d
    where d.unit_type = p_unit_type and d.slot = p_slot
    for update;
    if not found then
        return 0;
    end if;
    delete from register.statistical_unit_facet_staging s where s.unit_type = p_unit_type and s.slot = p_slot;
    insert into register.statistical_unit_facet_staging
    select p_unit_type, p_slot, u.valid_from, u.valid_until, u.region / 100, u.activity / 100, u.legal_form, count(*),
        count(*) filter (where u.is_birth), count(*) filter (where u.is_death), count(*) filter (where u.is_change), sum(u.employees),
        sum(u.turnover)
    from register.statistical_unit u
    where u.unit_type = p_unit_type
        and u.unit_id >= p_slot * 16384
        and u.unit_id < (p_slot + 1) * 16384
    group by u.valid_from, u.valid_until, u.region / 100, u.activity / 100, u.legal_form;
    get diagnostics v_rows = row_count;
    insert into register.staged_partition (unit_type, slot, mark)
    values (p_unit_type, p_slot, v_mark)
    on conflict (unit_type, slot) do update set mark = excluded.mark;
    return v_rows;
end
$$;
