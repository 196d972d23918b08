-- Takes up to `p_limit` open tasks of one queue for a worker, of the commands it handles, in the order (priority, position, id).
-- Answers the tasks, in no order, then one last row without id.
--
-- Of a task: `recorded`, the number of its checkpoints; `was_suspended`, whether it was suspended before; `holds_slots`, whether it holds
-- slots; `keys`, the keys it was enqueued with (null: none); `waited`, how long it had waited since it was due (null: it has run before).
--
-- Of the last row: `next_due`, when the next task of the queue becomes due. `again`: the caller claims again at once, because the worker
-- has just been put down as idle and a task enqueued in that moment may have seen it as busy, or because there may be more before the
-- cursors. `steps`: the entries of `task_ready` that it stepped over; dead entries that can't be removed yet count, so the caller knows
-- when cursors are worth it. `more`: keys held up so many tasks that the claim ended there; other tasks may be behind them.
--
-- Never waits for a row. Takes the queue's lock, shared, if it is free: a pause and a change of limits take it exclusively. Locks the
-- tasks that it takes, and the worker's row against its removal, both with `skip locked`. On a queue with limits or a fair key claims go
-- one after another, by the queue's admission lock; a claim waits for that lock before it has any row, and for a second at most. Reads
-- `task_due` to open due tasks, and the heads of its own commands in `task_ready`. Takes the first suspect from `task_suspect`, if the
-- worker runs none. Where no child and no family at work has an open task, it reads one lane.
--
-- On a queue with a fair key a claim takes the tasks in the order of `pick_turns`, and `turns` of the last row has them in that order.
-- Claims of commands with groups go one after another, by the admission locks of these groups. A claim takes these locks before any
-- row, too, and waits for them only where it has nothing else to take (`lock_admission`). Where no task of these commands could start,
-- it claims for its other commands alone.
--
-- `p_low_*`: for each command in the lane `top`, then for each in the lane `child`, the position behind which to look,
-- for when dead index entries have piled up before it.
-- `p_relaxed`: the commit need not be waited for. Only for a transaction that does nothing else. Where a limit is to hold, the
-- last row then says that the claim is `unflushed`: its tasks must not start before a call of `flush` has come back. So the
-- next claim can have the admission locks while this one is written to the disk. A few tasks are not worth the second call.
--
-- The steps run under the settings of this function: steps that every claim takes have none of their own.

create or replace function kinfolk.claim(
    p_worker uuid, p_token uuid, p_queue text, p_commands text[], p_limit integer, p_repeated boolean default false,
    p_relaxed boolean default false, p_low_priority integer[] default '{}', p_low_position timestamptz[] default '{}',
    p_low_id bigint[] default '{}'
) returns setof kinfolk.claimed
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    -- Whether this transaction does nothing else: only then may its commit go unawaited.
    v_alone boolean := pg_current_xact_id_if_assigned() is null;
    v_steps bigint := pg_stat_get_xact_tuples_returned('kinfolk.task_ready'::regclass);
    v_call kinfolk.claim_call := row(p_worker, p_token, p_queue, p_commands, p_limit, p_repeated is true,
        p_low_priority, p_low_position, p_low_id);
    v_scope kinfolk.claim_scope;
    v_work kinfolk.claim_work;
    v_picked kinfolk.claim_picked;
    v_taken integer := 0;
begin
    v_scope := kinfolk.lock_claim(v_call);
    v_call.most := least(p_limit, kinfolk.claim_batch_max());
    if v_scope.was_taken then
        return query select * from kinfolk.claimed_before(p_worker, p_token);
        get diagnostics v_taken = row_count;
    end if;
    if not v_scope.is_open then
        return query select * from kinfolk.closed_claim(v_scope.queue_id, v_taken);
        return;
    end if;

    -- point: claim.admitted
    if not v_scope.was_taken then
        v_work := kinfolk.open_work(v_scope.queue_id, v_scope.commands, v_scope.limited or p_low_id <> '{}');
        v_picked := kinfolk.pick_tasks(v_call, v_scope, v_work);
        -- point: claim.picked
        if v_picked.starts_unique or v_picked.again <> '{}' then
            v_picked := kinfolk.unify_picked(v_picked, v_scope, v_work.made or not v_alone);
        end if;
        -- point: claim.unified
        if v_picked.ids <> '{}' then
            -- The worker must be there when this commits, or no recovery would ever find its tasks.
            perform from kinfolk.worker w where w.id = p_worker for key share skip locked;
            if not found then
                raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker), hint = 'register anew';
            end if;
            -- Here, and not in a step of its own: a step that hands its rows on was measurably slower for one task. By the index
            -- in any case: the planner might plan a join for an empty table, and keep it.
            return query
            update kinfolk.task t
            set
                state = 'running',
                gate = null,
                attempt = t.attempt + 1,
                runs = t.runs + 1,
                started_at = v_picked.at,
                worker_id = p_worker,
                token = p_token,
                ran_by = p_worker,
                unique_held = t.unique_held and t.unique_scope <> 'pending',
                lane = case when t.id = any (v_picked.tops) then 'root'::kinfolk.lane else t.lane end,
                child_slot = t.lane = 'child' and v_scope.child_limit is not null,
                holds_slots = ((t.keys is not null and t.command_id = any (v_scope.grouped)) or t.command_id = any (v_scope.total))
                    and (v_scope.holds is not true or kinfolk.holds_any_slot(t.id, t.command_id, t.keys)),
                blocked_group = null,
                blocked_key = null,
                failed_tries = 0
            where t.id = any (v_picked.ids)
            returning t.id,
                case
                    when cardinality(v_scope.commands) = 1 then v_scope.commands[1]
                    else (select c.name from kinfolk.command c where c.id = t.command_id)
                end,
                coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)),
                t.attempt::integer, t.max_attempts::integer, t.timeout_us, t.trace, t.priority, t.position, null::timestamptz,
                false, t.parent_id, coalesce(t.root_id, t.id), t.depth::integer,
                case when t.id = any (v_picked.tops) then 'top' else t.lane::text end, null::bigint, t.steps, t.was_suspended, t.holds_slots,
                null::boolean, null::boolean, null::bigint[], t.keys, case when t.runs = 1 then t.started_at - t.due end;
            get diagnostics v_taken = row_count;
        end if;
    end if;
    return next kinfolk.end_claim(v_call, v_scope, v_work, v_picked, v_taken, p_relaxed and v_alone, v_steps);
end
$$;
