-- ③ Merges what is staged into statistical_unit, in one transaction: rows that are as they were are left alone. What is different is added
-- to the spans, and marks the periods and partitions in which it counts. Then the staging table is emptied.
-- Batches that a crash has taken from the staging table go back into the change log.
-- Locks the rows of statistical_unit that change, then spans, then periods, then partitions; all in the order of their keys.
-- Reads the primary key of statistical_unit, or both tables once where much is staged.

create function register.statistical_unit_flush_staging(payload jsonb) returns jsonb
language plpgsql
set jit = off
as $$
declare
    v_lost int4multirange;
    v_answer jsonb;
begin
    lock table register.statistical_unit_staging in access exclusive mode;
    v_answer := register.merge_staged();
    perform register.mark_partitions();
    perform register.merge_spans();
    drop table pg_temp.merged;
    truncate register.statistical_unit_staging;

    with gone as (
        delete from register.derive_batch b where b.staged_at is not null returning b.*
    )
    select range_agg(r) into v_lost
    from gone g
    cross join lateral unnest(g.enterprise_ids) r
    where not exists (select from register.staged_batch s where s.cycle = g.cycle and s.batch = g.batch);
    delete from register.staged_batch;
    if v_lost is not null then
        perform register.log_change('{}', '{}', v_lost);
    end if;
    delete from register.derive_cycle c
    where c.id < (payload ->> 'cycle')::bigint and not exists (select from register.derive_batch b where b.cycle = c.id);
    return v_answer || jsonb_build_object('lost', v_lost is not null);
end
$$;
