-- ② The parent: a child for each batch, and what follows when all batches are done. Nothing is truncated here: a flush of an earlier derivation may
-- still be to come. When a batch has failed, what was to follow is skipped; it comes back when the family is retried.
-- Locks nothing.

create function register.derive_statistical_unit(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_cycle bigint := payload ->> 'cycle';
    v_batches integer := register.plan_batches(v_cycle);
begin
    perform kinfolk.spawn('statistical_unit_refresh_batch', jsonb_build_object('cycle', v_cycle, 'batch', b.batch))
    from register.derive_batch b
    where b.cycle = v_cycle
    order by b.batch;
    perform kinfolk.follow_up('derive_statistical_unit_continue', starts_when => 'completed');
    perform kinfolk.follow_up('statistical_unit_flush_staging', payload, starts_when => 'completed');
    perform kinfolk.follow_up('derive_reports', starts_when => 'completed');
    return jsonb_build_object('cycle', v_cycle, 'batches', v_batches);
end
$$;

-- A child: derives one batch into the staging table. ANALYZE is not for here: it would keep the other batches out.
create function register.statistical_unit_refresh_batch(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_cycle bigint := payload ->> 'cycle';
    v_batch integer := payload ->> 'batch';
    v_enterprises integer[];
    v_rows bigint;
begin
    select array(select register.numbers(b.enterprise_ids)) into strict v_enterprises
    from register.derive_batch b
    where b.cycle = v_cycle and b.batch = v_batch;
    v_rows := register.refresh_units(v_enterprises);
    update register.derive_batch b set staged_at = clock_timestamp() where b.cycle = v_cycle and b.batch = v_batch;
    insert into register.staged_batch (cycle, batch) values (v_cycle, v_batch) on conflict do nothing;
    return jsonb_build_object('enterprises', cardinality(v_enterprises), 'rows', v_rows);
end
$$;

-- The sync point: every batch is done, and the planner learns what they staged, once, before the flush.
create function register.derive_statistical_unit_continue(payload jsonb) returns void
language plpgsql
as $$
begin
    analyze register.statistical_unit_staging;
end
$$;
