-- Locks all that a bulk action needs before it touches the first task, and answers on which of these tasks it is to be done.
-- A cancel and a retry lock the queues of the roots, shared, by number, against a change of their limits; then the families, as a
-- whole, in their order. Then a cancel locks all tasks that it may come to (`reached_by_cancel`), as far as they are open
-- (`lock_unended`): what has ended is for a removal to lock; a retry the follow-ups that may come back (`lock_follow_ups`). To run now
-- takes no more than the open tasks, and is done to those that pend.

create or replace function kinfolk.lock_bulk(p_action text, p_ids bigint[]) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_root record;
    v_held bigint[];
begin
    -- point: bulk.begun
    if p_action = 'run_now' then
        v_held := kinfolk.lock_unended(p_ids);
        -- point: bulk.held
        return array(select t.id from kinfolk.task t where t.id = any (v_held) and t.state = 'pending' order by t.id);
    end if;
    select array_agg(distinct r.id) as ids, array_agg(distinct r.queue_id order by r.queue_id) as queues
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    where t.id = any (p_ids);
    perform pg_advisory_xact_lock_shared(1263160902, q.id) from unnest(v_root.queues) as q(id);
    perform kinfolk.lock_families(coalesce(v_root.ids, '{}'), true);
    if p_action = 'cancel' then
        perform kinfolk.lock_unended(kinfolk.reached_by_cancel(p_ids));
        -- point: bulk.rows_locked
    else
        perform kinfolk.lock_follow_ups(v_root.ids);
    end if;
    return p_ids;
end
$$;
