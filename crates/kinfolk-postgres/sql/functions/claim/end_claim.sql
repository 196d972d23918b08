-- The last step of a claim: puts the worker down as idle or not, and answers the last row. `p_relaxed`: the commit need not be waited
-- for. `p_steps`: the steps that were made in `task_ready` before this call. Locks the worker's row against its removal
-- (`skip locked`) where it begins or ceases to be idle.

create or replace function kinfolk.end_claim(
    p_call kinfolk.claim_call, p_scope kinfolk.claim_scope, p_work kinfolk.claim_work, p_picked kinfolk.claim_picked,
    p_taken integer, p_relaxed boolean, p_steps bigint
) returns kinfolk.claimed
language plpgsql volatile
as $$
declare
    v_last kinfolk.claimed;
    v_was_idle boolean;
    v_setting text;
begin
    -- Ifs in ifs: an expression with a query in it is one more statement, whether or not it comes to that.
    if p_picked.ids <> '{}' then
        if exists (select from kinfolk.status) then
            perform kinfolk.tell_statuses(p_picked.ids);
        end if;
    end if;
    if p_work.for_others then
        perform kinfolk.notify_queues(array[p_scope.queue_id], true);
    end if;
    v_last.next_due := p_work.next_due;
    -- Where it was not read, or may have changed since.
    if p_call.repeated or p_work.has_follow_ups or p_picked.starts_unique or p_work.next_due <= p_picked.at then
        v_last.next_due := kinfolk.next_due(p_scope.queue_id);
    end if;
    if p_scope.wakes then
        v_last.next_due := least(v_last.next_due, kinfolk.next_wake(p_scope.queue_id, p_call.commands));
    end if;
    -- point: claim.taken
    select wq.idle
    into v_was_idle
    from kinfolk.worker_queue wq
    where wq.queue_id = p_scope.queue_id
        and wq.worker_id = p_call.worker_id;
    if v_was_idle is distinct from (p_taken < p_call.most) then
        perform kinfolk.put_idle(p_call.worker_id, p_scope.queue_id, p_taken < p_call.most);
    end if;
    v_last.again := coalesce(p_scope.left_out, false) or coalesce(p_work.left_out, false) or coalesce(p_picked.left_out, false)
        or coalesce(p_picked.short, false) or (p_taken < p_call.most and not coalesce(v_was_idle, false));
    v_last.more := coalesce(p_picked.more, false);
    -- A repeated call may have found tasks whose commit is not on the disk yet.
    v_last.unflushed := p_call.repeated or ((p_scope.limited or p_scope.groups is not null) and p_taken > 0);
    if p_relaxed and (not v_last.unflushed or p_taken >= 50) then
        v_setting := set_config('synchronous_commit', 'off', true);
    else
        v_last.unflushed := p_call.repeated;
    end if;
    v_last.turns := case when p_scope.fair is not null then coalesce(p_picked.ids, '{}') end;
    v_last.steps := pg_stat_get_xact_tuples_returned('kinfolk.task_ready'::regclass) - p_steps;
    return v_last;
end
$$;
