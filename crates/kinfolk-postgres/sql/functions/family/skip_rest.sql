-- Cancels all children of an in-order fan-out, which the caller has locked, whose gate is `after`: an earlier child has
-- failed. Answers whether the owner waits and these were its last children. Reads `task_after`.
create or replace function kinfolk.skip_rest(p_fan_out bigint, p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_skipped bigint[] := array(
        select t.id
        from kinfolk.task t
        where t.fan_out_id = p_fan_out
            and t.gate = 'after'
        order by t.id
        for update);
    v_is_over boolean;
begin
    perform kinfolk.end_pending(v_skipped, kinfolk.failure_skipped_child(), p_now);
    update kinfolk.fan_out f
    set
        cancelled = f.cancelled + cardinality(v_skipped),
        held = f.held - cardinality(v_skipped)
    where f.id = p_fan_out
    returning f.waits and f.completed + f.failed + f.cancelled = f.total into v_is_over;
    return v_is_over;
end
$$;
