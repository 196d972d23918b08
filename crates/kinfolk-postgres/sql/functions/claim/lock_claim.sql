-- The first step of a claim: refuses what can't be, and takes the locks of the call, of the queue, and of admission to it and to the
-- groups of its commands, all before any row. See `claim` and `lock_admission`. Reads the worker, the queue and its commands by name.

create or replace function kinfolk.lock_claim(p_call kinfolk.claim_call) returns kinfolk.claim_scope
language plpgsql volatile
as $$
declare
    v_scope kinfolk.claim_scope;
    v_queue record;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform kinfolk.require_read_committed();
    end if;
    if num_nulls(p_call.worker_id, p_call.token, p_call.queue, p_call.commands, p_call.most) > 0 or p_call.most < 0 then
        raise exception using errcode = 'KF001', message = 'p_worker, p_token, p_queue, p_commands or p_limit is null or out of range',
            hint = 'send your id, a fresh random uuid, a queue, the commands you handle, and how many tasks you take';
    end if;
    -- A repeated call waits for the one it repeats, should that still be under way: else it would not see what it takes.
    if p_call.repeated then
        perform pg_advisory_xact_lock(1263160903, hashtext(p_call.token::text));
    elsif pg_try_advisory_xact_lock_shared(1263160903, hashtext(p_call.token::text)) then
        null;
    end if;
    select q.id into v_scope.queue_id from kinfolk.queue q where q.name = p_call.queue;
    -- A pause, or a change of limits, takes this lock whole: the row stays as this claim reads it.
    if not pg_try_advisory_xact_lock_shared(1263160902, v_scope.queue_id) then
        v_scope.queue_id := null;
    end if;
    select q.id, q.paused_at, q.family_limit, q.child_limit, q.fair,
        q.family_limit is not null or q.child_limit is not null or q.fair is not null as is_limited,
        exists (select from kinfolk.command c where c.name = any (p_call.commands) and c.grouped) as is_grouped,
        exists (select from kinfolk.worker w where w.id = p_call.worker_id) as is_known
    into v_queue
    from kinfolk.queue q
    where q.id = v_scope.queue_id;
    -- Ifs in ifs: an expression with a query in it is one more statement, whether or not it comes to that.
    if v_queue.is_known is not true then
        if not exists (select from kinfolk.worker w where w.id = p_call.worker_id) then
            raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_call.worker_id),
                hint = 'register anew';
        end if;
    end if;
    v_scope.was_taken := false;
    if p_call.repeated then
        v_scope.was_taken := exists (select from kinfolk.claimed_before(p_call.worker_id, p_call.token));
    end if;
    v_scope.family_limit := v_queue.family_limit;
    v_scope.child_limit := v_queue.child_limit;
    v_scope.fair := v_queue.fair;
    v_scope.commands := p_call.commands;
    v_scope.low_priority := p_call.low_priority;
    v_scope.low_position := p_call.low_position;
    v_scope.low_id := p_call.low_id;
    v_scope.limited := v_queue.is_limited and not v_scope.was_taken;
    v_scope.grouped := '{}';
    v_scope.total := '{}';
    -- Before any row: the holder of this lock waits for no other call, and no call waits for it with a row in hand.
    if v_scope.limited and not pg_try_advisory_xact_lock(1263160904, v_scope.queue_id)
        and not kinfolk.wait_for_admission(v_scope.queue_id)
    then
        v_scope.queue_id := null;
    end if;
    if v_queue.is_grouped and not v_scope.was_taken and v_queue.paused_at is null then
        v_scope := kinfolk.lock_claim_groups(v_scope);
    end if;
    v_scope.is_open := v_scope.queue_id is not null and v_queue.paused_at is null and cardinality(v_scope.commands) > 0;
    return v_scope;
end
$$;
