-- Opens all children of a fan-out, which the caller has locked, whose gate is `after`: from now on they run side by side.
-- Reads `task_after`.
create or replace function kinfolk.open_held(p_fan_out bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_queues integer[];
begin
    with opened as (
        update kinfolk.task t
        set gate = kinfolk.gate_in_family(t.root_id, t.due, p_now)
        where t.fan_out_id = p_fan_out
            and t.gate = 'after'
        returning t.queue_id
    )
    select array_agg(distinct o.queue_id) into v_queues from opened o;
    update kinfolk.fan_out f set held = 0 where f.id = p_fan_out;
    perform kinfolk.notify_queues(v_queues, false);
end
$$;
