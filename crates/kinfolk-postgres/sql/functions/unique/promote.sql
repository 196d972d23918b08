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
    v_task bigint;
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
    for v_task in
        -- While the task holds its key, though it has started, they wait.
        select t.id
        from kinfolk.task t
        where t.id = any (v_orphaned)
            and (t.runs > 0 or t.state <> 'pending')
            and not kinfolk.holds(t, p_now)
        order by t.id
    loop
        begin
            perform kinfolk.promote_orphans(v_task, p_now);
            made := true;
        exception
            -- One bad payload must not keep a queue from being claimed: it stays where it is.
            when program_limit_exceeded or data_exception then
                raise warning 'kinfolk: what was enqueued behind task % can not be made a task: %', v_task, sqlerrm;
        end;
    end loop;
    if made then
        -- Its command may be one that this worker does not handle.
        perform kinfolk.notify_queues(array[p_queue], true);
    end if;

    delete from kinfolk.released_key l
    where l.ctid = any (array(
        select e.ctid
        from kinfolk.released_key e
        where e.queue_id = p_queue
            and e.horizon <= v_ended
            and not exists (select from kinfolk.duplicate d where d.task_id = e.task_id)
        limit kinfolk.sweep_page()
        for update skip locked));
    update kinfolk.released_key l
    set horizon = pg_current_xact_id()
    where l.ctid = any (array(
        select e.ctid
        from kinfolk.released_key e
        where e.ctid = any (v_new)
            and e.queue_id = p_queue
            and e.horizon is null
        for update skip locked));
    left_out := cardinality(v_orphaned) = 0
        and exists (
            select
            from kinfolk.released_key l
            join kinfolk.duplicate d on d.task_id = l.task_id
            where l.queue_id = p_queue);
end
$$;
