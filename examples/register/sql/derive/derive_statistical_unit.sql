-- ② The parent: a child for each batch, and what is to follow. Nothing is truncated here: a flush of an earlier derivation may still be to come.
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
    perform register.ask_continue(v_cycle);
    return jsonb_build_object('cycle', v_cycle, 'batches', v_batches);
end
$$;

-- A child: derives one batch into the staging table. ANALYZE is not for here: it would keep the other batches out. The batch asks for what
-- follows as its parent did: when a batch has failed, what was asked for is cancelled, and the retry of the family needs it anew.
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
    perform register.ask_continue(v_cycle);
    return jsonb_build_object('enterprises', cardinality(v_enterprises), 'rows', v_rows);
end
$$;

create function register.ask_continue(cycle bigint) returns void
language sql
as $$
    select kinfolk.follow_up('derive_statistical_unit_continue', jsonb_build_object('cycle', cycle),
        unique_key => format('cycle %s', cycle), starts_when => 'completed')
$$;

-- The sync point: every batch is done, and the planner learns what they staged, once.
create function register.derive_statistical_unit_continue(payload jsonb) returns void
language plpgsql
as $$
begin
    analyze register.statistical_unit_staging;
    perform kinfolk.follow_up('statistical_unit_flush_staging', payload);
    perform kinfolk.follow_up('derive_reports', payload);
end
$$;
