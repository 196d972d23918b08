-- ⑥ The parent: a child for each dirty partition. The reduction follows, asked for by each child too, as that of the batches is.
-- Locks nothing. Reads the dirty partitions.

create function register.derive_statistical_unit_facet(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_round bigint := kinfolk.current_task();
    v_partitions bigint;
begin
    select count(kinfolk.spawn('derive_statistical_unit_facet_partition',
        jsonb_build_object('unit_type', d.unit_type, 'slot', d.slot, 'round', v_round)))
    into v_partitions
    from (select * from register.statistical_unit_facet_dirty_partitions d order by d.unit_type, d.slot) d;
    perform register.ask_reduce(v_round);
    return jsonb_build_object('partitions', v_partitions);
end
$$;

create function register.derive_statistical_unit_facet_partition(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_rows bigint := register.refresh_partition((payload ->> 'unit_type')::register.unit_type, (payload ->> 'slot')::integer);
begin
    perform register.ask_reduce((payload ->> 'round')::bigint);
    return jsonb_build_object('rows', v_rows);
end
$$;

create function register.ask_reduce(round bigint) returns void
language sql
as $$
    select kinfolk.follow_up('statistical_unit_facet_reduce', unique_key => format('round %s', round), starts_when => 'completed')
$$;
