-- Makes new tasks of duplicates that were committed after the task they were meant for had started (or was cancelled):
-- they belong to the next task under the same key. A list of tasks that gave their key up (`late`) says where to look;
-- an entry goes when no transaction is left that may have seen the key held. That is known in two steps: the first look
-- at a committed entry notes the next transaction number, and the entry goes when all numbers below have ended.
-- Answers whether another claim is at the same work. Locks entries of `late`, never waiting.

create or replace function kinfolk.promote(p_queue integer, p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ended xid8;
    v_entries tid[];
    v_tasks bigint[];
begin
    if not exists (select from kinfolk.late l where l.queue_id = p_queue) then
        return false;
    end if;
    v_ended := pg_snapshot_xmin(pg_current_snapshot());
    with entries as materialized (
        select l.ctid, l.task_id
        from kinfolk.late l
        where l.queue_id = p_queue
        limit kinfolk.sweep_page()
        for update skip locked
    )
    select array_agg(e.ctid), array_agg(distinct e.task_id) into v_entries, v_tasks from entries e;
    if v_entries is null then
        return true;
    end if;

    -- While the task holds its key, though it has started, they wait.
    perform kinfolk.promote_orphans(o.id, p_now)
    from (
        select t.id
        from kinfolk.task t
        where t.id = any (v_tasks)
            and (t.runs > 0 or t.state <> 'pending')
            and not kinfolk.holds(t, p_now)
            and exists (select from kinfolk.duplicate d where d.task_id = t.id)
        order by t.id
    ) o;

    delete from kinfolk.late l
    where l.ctid = any (v_entries)
        and l.horizon <= v_ended
        and not exists (select from kinfolk.duplicate d where d.task_id = l.task_id);
    update kinfolk.late l
    set horizon = pg_snapshot_xmax(pg_current_snapshot())
    where l.ctid = any (v_entries)
        and l.horizon is null;
    return false;
end
$$;
