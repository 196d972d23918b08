-- Locks all that a bulk action needs before it touches the first task: the queues of the roots, shared, by number, against a
-- change of their limits; the families, as a whole, in their order; and, for a cancel, the tasks with all below them, as far
-- as they are open, by number: what has ended is for a removal to lock. For a retry, the follow-ups that may come back
-- (`lock_follow_ups`). Reads `fan_out_task` and `task_fan_out`.

create or replace function kinfolk.lock_bulk(p_ids bigint[], p_below boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_root record;
    v_ids bigint[];
begin
    select array_agg(distinct r.id) as ids, array_agg(distinct r.queue_id order by r.queue_id) as queues
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    where t.id = any (p_ids);
    -- point: bulk.begun
    perform pg_advisory_xact_lock_shared(1263160902, q.id) from unnest(v_root.queues) as q(id);
    perform kinfolk.lock_families(coalesce(v_root.ids, '{}'), true);
    if p_below then
        v_ids := kinfolk.members_below(array(select f.id from kinfolk.fan_out f where f.task_id = any (p_ids)));
        perform
        from (
            select t.id
            from kinfolk.task t
            where t.id = any (v_ids || p_ids)
                and t.state < 'completed'
            order by t.id
            for update
        ) held;
        -- point: bulk.rows_locked
    else
        perform kinfolk.lock_follow_ups(v_root.ids);
    end if;
end
$$;
