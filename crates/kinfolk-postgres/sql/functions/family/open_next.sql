-- Opens the next child of an in-order fan-out, which the caller has locked, when one has ended and no other is open. Reads
-- `task_after`.

create or replace function kinfolk.open_next(p_fan_out bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_next record;
begin
    select t.id, t.queue_id, t.root_id
    into v_next
    from kinfolk.task t
    where t.fan_out_id = p_fan_out
        and t.gate = 'after'
    order by t.nth
    limit 1
    for update;
    -- point: open_next.locked
    update kinfolk.task t
    set gate = kinfolk.gate_in_family(v_next.root_id, t.due, p_now)
    where t.id = v_next.id;
    update kinfolk.fan_out f
    set held = f.held - 1
    where f.id = p_fan_out;
    perform kinfolk.notify_queues(array[v_next.queue_id], false);
end
$$;
