-- ⑥ The parent: a child for each dirty partition. The reduction follows when all of them are done.
-- Locks nothing. Reads the dirty partitions.

create function register.derive_statistical_unit_facet(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_partitions bigint;
begin
    select count(kinfolk.spawn('derive_statistical_unit_facet_partition', jsonb_build_object('unit_type', d.unit_type, 'slot', d.slot)))
    into v_partitions
    from (select * from register.statistical_unit_facet_dirty_partitions d order by d.unit_type, d.slot) d;
    perform kinfolk.follow_up('statistical_unit_facet_reduce', starts_when => 'completed');
    return jsonb_build_object('partitions', v_partitions);
end
$$;

create function register.derive_statistical_unit_facet_partition(payload jsonb) returns jsonb
language sql
as $$
    select jsonb_build_object('rows',
        register.refresh_partition((payload ->> 'unit_type')::register.unit_type, (payload ->> 'slot')::integer))
$$;
