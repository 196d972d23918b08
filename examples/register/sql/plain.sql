-- The same derivation without the engine, to compare with: a script on one connection, or on several that share the parts of a stage. Nothing of it
-- survives a crash, nothing is tried again, and nobody sees how far it is.

create procedure register.plain_plan()
language plpgsql
as $$
declare
    v_cycle bigint;
begin
    truncate register.statistical_unit, register.statistical_unit_span, register.period, register.statistical_history,
        register.statistical_unit_facet_partial, register.statistical_unit_facet, register.statistical_history_facet,
        register.base_change_log, register.base_change_log_has_pending;
    insert into register.derive_cycle (is_full, establishment_ids, legal_unit_ids, enterprise_ids)
    values (true, '{}', '{}', '{}')
    returning id into v_cycle;
    perform register.plan_batches(v_cycle);
end
$$;

create procedure register.plain_units(part integer, parts integer)
language plpgsql
as $$
declare
    v_batch record;
begin
    for v_batch in select b.* from register.derive_batch b where b.batch % parts = part order by b.batch loop
        perform register.refresh_units(array(select register.numbers(v_batch.enterprise_ids)));
        commit;
    end loop;
end
$$;

create procedure register.plain_flush()
language plpgsql
as $$
begin
    analyze register.statistical_unit_staging;
    perform register.statistical_unit_flush_staging('{}');
    delete from register.derive_batch;
    perform register.add_periods();
end
$$;

-- A procedure for each stage, since the stages are measured one by one.
create view register.plain_period as
select p.*, row_number() over (order by p.resolution, p.valid_from) as nth
from register.period p;

create procedure register.plain_history(part integer, parts integer)
language plpgsql
as $$
declare
    v_period record;
begin
    for v_period in select p.* from register.plain_period p where p.nth % parts = part loop
        perform register.refresh_history(v_period.resolution, v_period.valid_from);
        commit;
    end loop;
end
$$;

create procedure register.plain_partitions(part integer, parts integer)
language plpgsql
as $$
declare
    v_partition record;
begin
    for v_partition in
        select d.* from register.statistical_unit_facet_dirty_partitions d where d.slot % parts = part order by d.unit_type, d.slot
    loop
        perform register.refresh_partition(v_partition.unit_type, v_partition.slot);
        commit;
    end loop;
end
$$;

create procedure register.plain_history_facets(part integer, parts integer)
language plpgsql
as $$
declare
    v_period record;
begin
    for v_period in select p.* from register.plain_period p where p.nth % parts = part loop
        perform register.refresh_history_facet(v_period.resolution, v_period.valid_from);
        commit;
    end loop;
end
$$;
