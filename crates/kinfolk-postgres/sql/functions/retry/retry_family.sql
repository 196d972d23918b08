-- Lets what failed or was cancelled in the family of a task run again: the root must have ended so. Answers how many tasks
-- pend and how many wait then; see `revive`. Follow-ups that were skipped because the family did not complete come back, and are
-- not counted.
-- Errors: KF002 when there is no such task; KF003 (detail: the root's state) when the root has not failed and was not
-- cancelled.
--
-- Locks the family as a whole, then its follow-ups, then the root, then what `revive` locks.

create or replace function kinfolk.retry_family(p_task bigint, out pending bigint, out waiting bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_root record;
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_family_of(p_task);
    perform kinfolk.lock_follow_ups(array(select coalesce(t.root_id, t.id) from kinfolk.task t where t.id = p_task));
    -- A prune that removes the family holds the root's row.
    select r.id, r.state, case when q.family_limit is null then 'open' else 'family' end::kinfolk.gate as gate
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task
    for update of r;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', p_task);
    elsif v_root.state not in ('failed', 'cancelled') then
        raise exception using errcode = 'KF003',
            message = format('task %s, the root of the family, is %s', v_root.id, v_root.state),
            hint = 'only a failed or cancelled family can be retried', detail = v_root.state::text;
    end if;
    -- The root itself is let in by a claim, and the others with it.
    select r.pending, r.waiting into pending, waiting
    from kinfolk.revive(v_root.id, 'open', v_root.gate, kinfolk.clock()) r;
end
$$;
