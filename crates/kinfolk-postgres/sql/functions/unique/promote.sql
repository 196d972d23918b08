-- Makes new tasks of duplicates that were committed after the task they were meant for had started (or was cancelled):
-- they belong to the next task under the same key. A list of tasks that gave their key up (`released_key`) says where to look;
-- an entry goes when no transaction is left that may have seen the key held. That is known in two steps: the first look
-- at a committed entry notes a transaction number above all of these, and the entry goes when all numbers below it have
-- ended. Answers whether another claim is at the same work, and whether it has made a task.
--
-- Locks entries of `released_key`, never waiting, and only entries it can act upon. Reads `released_key_queue` and `duplicate_task`.

create or replace function kinfolk.promote(p_queue integer, p_now timestamptz, out left_out boolean, out made boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_new tid[] := '{}';
    v_ended xid8;
    v_orphaned bigint[];
begin
    left_out := false;
    made := false;
    if not exists (select from kinfolk.released_key l where l.queue_id = p_queue) then
        return;
    end if;
    -- Seen before this transaction takes its number, so that the number lies above all that may have seen the key held.
    -- Inside a transaction that has one already, nothing can be noted. (A place is not used again while this call's own
    -- snapshot is held.)
    if pg_current_xact_id_if_assigned() is null then
        v_new := array(
            select l.ctid
            from kinfolk.released_key l
            where l.queue_id = p_queue
                and l.horizon is null
            limit kinfolk.sweep_page());
    end if;
    v_ended := pg_snapshot_xmin(pg_current_snapshot());

    with orphaned as materialized (
        select l.task_id
        from kinfolk.released_key l
        where l.queue_id = p_queue
            and exists (select from kinfolk.duplicate d where d.task_id = l.task_id)
        limit kinfolk.sweep_page()
        for update skip locked
    )
    select coalesce(array_agg(distinct o.task_id order by o.task_id), '{}') into v_orphaned from orphaned o;
    made := kinfolk.promote_each(v_orphaned, p_now);
    if made then
        -- Its command may be one that this worker does not handle.
        perform kinfolk.notify_queues(array[p_queue], true);
    end if;
    perform kinfolk.forget_released(p_queue, v_new, v_ended);
    left_out := cardinality(v_orphaned) = 0
        and exists (
            select
            from kinfolk.released_key l
            join kinfolk.duplicate d on d.task_id = l.task_id
            where l.queue_id = p_queue);
end
$$;
