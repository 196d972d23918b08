-- Takes up to `p_limit` open tasks of one queue for a worker, in the order (priority, place, id) over the commands it
-- handles. Answers the tasks taken, in no order, then one last row without id: when the next task of the queue becomes due, and
-- whether to claim `again` at once (the worker has just been put down as idle: what was enqueued in that moment may
-- have seen it as busy; or there may be more before the marks), and how many `steps` it made in `task_ready`: dead entries
-- that can't be removed yet count, so that a caller knows when marks are worth it. Of a task `recorded` says how many checkpoints
-- its handler has written, `parked` whether it was suspended before, `keyed` whether it holds slots, `keys` those it was enqueued
-- with (null: none), `waited` how long it had waited since it was due (null: it has run before). `more` of the last row: so many were found to be held up by their keys that the claim ended there, and there
-- may be others behind them.
--
-- Never waits for a row: locks a shared try-lock of the queue (a pause, or a change of limits, takes it whole), the tasks
-- it takes (`skip locked`), and the worker's row against its removal (`skip locked`). Only on a queue with limits do
-- claims wait for each other: by the queue's admission lock, before any row, for a second at most. Reads `task_due` to open what is due, and
-- the heads of its own commands in `task_ready`; `task_suspect` holds the suspects, of which it takes the first, if the
-- worker runs none. Where no child and no family at work has an open task, one lane is read.
--
-- On a queue with a fair key claims wait for each other, too, and take what `pick_turns` says: `turns` of the last row has the
-- tasks in that order.
-- Commands that have groups: claims on them go one after another by the admission locks of their groups, which come before any
-- row, too, and are waited for only where there is nothing else to take; see `pick_keyed`. Where none of their tasks could start,
-- the claim is one of the other commands alone.
--
-- `p_low_*`: for each command in the lane `top`, then for each in the lane `child`, the position behind which to look,
-- for when dead index entries have piled up before it.
-- `p_relaxed`: the commit need not be waited for. Only for a transaction that does nothing else. Where a limit is to hold, the
-- last row then says that the claim is `unflushed`: what it took must not start before a call of `flush` has come back. So the
-- next one can have the admission locks while this one is written to the disk. A few tasks are not worth the second call.

create or replace function kinfolk.claim(
    p_worker uuid,
    p_token uuid,
    p_queue text,
    p_commands text[],
    p_limit integer,
    p_repeated boolean default false,
    p_relaxed boolean default false,
    p_low_priority integer[] default '{}',
    p_low_place timestamptz[] default '{}',
    p_low_id bigint[] default '{}'
) returns table (
    id bigint, command text, payload jsonb, attempt integer, max_attempts integer, timeout_us bigint, trace text,
    priority integer, place timestamptz, next_due timestamptz, again boolean, parent bigint, root bigint, depth integer,
    lane text, steps bigint, recorded integer, parked boolean, keyed boolean, more boolean,
    unflushed boolean, turns bigint[], keys jsonb, waited interval
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_limit integer := least(p_limit, kinfolk.claim_batch_max());
    v_now timestamptz;
    v_is_known boolean;
    v_queue_id integer;
    v_queue record;
    v_limited boolean := false;
    v_lanes kinfolk.lane[] := '{top,root,child}';
    v_rooms integer[] := array[v_limit, v_limit, v_limit];
    v_next_due timestamptz;
    v_late boolean;
    v_promoted boolean := false;
    v_made boolean := false;
    v_opened boolean := false;
    v_follow_ups boolean;
    v_suspects boolean;
    v_beside boolean;
    v_ids bigint[] := '{}';
    v_tops bigint[] := '{}';
    v_keyed boolean;
    v_asked text[];
    v_wakes boolean := false;
    v_left boolean := false;
    v_short boolean := false;
    v_groups integer[];
    v_grouped integer[] := '{}';
    v_total integer[] := '{}';
    v_holds boolean;
    v_picked bigint[];
    v_more boolean := false;
    v_for_others boolean := false;
    v_taken integer := 0;
    v_idle boolean;
    v_unflushed boolean;
    v_steps bigint := pg_stat_get_xact_tuples_returned('kinfolk.task_ready'::regclass);
    -- Whether this transaction does nothing else: only then may its commit go unawaited.
    v_alone boolean := pg_current_xact_id_if_assigned() is null;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform kinfolk.require_read_committed();
    end if;
    if num_nulls(p_token, p_queue, p_commands, p_limit) > 0 or p_limit < 0 then
        raise exception using errcode = 'KF001', message = 'p_token, p_queue, p_commands or p_limit is null or out of range',
            hint = 'send a fresh random uuid, a queue, the commands you handle, and how many tasks you take';
    end if;
    -- A repeated call waits for the one it repeats, should that still be under way: else it would not see what it takes.
    if p_repeated then
        perform pg_advisory_xact_lock(1263160903, hashtext(p_token::text));
    elsif pg_try_advisory_xact_lock_shared(1263160903, hashtext(p_token::text)) then
        null;
    end if;
    select w.id is not null, q.id
    into v_is_known, v_queue_id
    from (values (p_worker, p_queue)) as g(worker_id, queue)
    left join kinfolk.worker w on w.id = g.worker_id
    left join kinfolk.queue q on q.name = g.queue;
    if not v_is_known then
        raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
            hint = 'register anew';
    end if;

    if p_repeated then
        return query
        select t.id, c.name,
            coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)), t.attempt::integer, t.max_attempts::integer, t.timeout_us, t.trace,
            t.priority, t.place, null::timestamptz, false, t.parent_id, coalesce(t.root_id, t.id), t.depth::integer, t.lane::text,
            null::bigint, t.steps, t.parked, t.keyed, null::boolean, null::boolean, null::bigint[], t.keys,
            case when t.runs = 1 then t.started_at - t.due end
        from kinfolk.task t
        join kinfolk.command c on c.id = t.command_id
        where t.worker_id = p_worker
            and t.state = 'running'
            and t.token = p_token
        order by t.priority, t.place, t.id;
        get diagnostics v_taken = row_count;
    end if;

    -- Whoever changes the queue takes this lock whole: what is read with it stays so.
    if not pg_try_advisory_xact_lock_shared(1263160902, v_queue_id) then
        v_queue_id := null;
    end if;
    select q.id, q.paused_at, q.family_limit, q.child_limit, q.fair,
        exists (select from kinfolk.command c where c.name = any (p_commands) and c.grouped) as is_grouped
    into v_queue
    from kinfolk.queue q
    where q.id = v_queue_id;
    v_limited := v_taken = 0 and (v_queue.family_limit is not null or v_queue.child_limit is not null
        or v_queue.fair is not null);
    -- Before any row: whoever holds this lock waits for nobody, and nobody waits for it with a row in hand.
    if v_limited and not pg_try_advisory_xact_lock(1263160904, v_queue.id) then
        if not kinfolk.wait_for_admission(v_queue.id) then
            v_queue.id := null;
        end if;
    end if;
    v_asked := p_commands;
    if v_taken = 0 and v_queue.is_grouped and v_queue.paused_at is null then
        if v_queue.fair is null and not kinfolk.has_keyed_work(v_queue.id, p_commands) then
            p_commands := kinfolk.without_groups(p_commands);
            v_wakes := true;
        else
            select l.commands, l.groups, l.busy, l.grouped, l.total, l.holds
            into p_commands, v_groups, v_left, v_grouped, v_total, v_holds
            from kinfolk.lock_admission(v_queue.id, p_commands) l;
            v_wakes := v_groups is not null;
        end if;
        if p_low_id <> '{}' and p_commands <> v_asked then
            select m.low_priority, m.low_place, m.low_id
            into p_low_priority, p_low_place, p_low_id
            from kinfolk.marks_for(p_commands, v_asked, p_low_priority, p_low_place, p_low_id) m;
        end if;
    end if;
    if v_queue.id is null or v_queue.paused_at is not null or cardinality(p_commands) = 0 then
        -- What a repeated call took before stays taken, also while the queue is paused.
        return query select null::bigint, null, null::jsonb, null::integer, null::integer, null::bigint, null,
            null::integer, null::timestamptz,
            (
                select t.due
                from kinfolk.task t
                where v_taken > 0
                    and t.queue_id = v_queue.id
                    and t.gate = 'time'
                order by t.due
                limit 1
            ),
            false, null::bigint, null::bigint, null::integer, null, null::bigint, null::integer, null::boolean, null::boolean,
            false, v_taken > 0, null::bigint[], null::jsonb, null::interval;
        return;
    end if;

    -- point: claim.admitted
    v_now := kinfolk.clock();
    if v_taken = 0 then
        loop
            -- When the next task becomes due; whether there are duplicates that may have come too late, follow-ups to look
            -- at, suspects, and open tasks in other lanes than `top`. One statement: an idle worker waits for each.
            select
                (
                    select t.due
                    from kinfolk.task t
                    where t.queue_id = v_queue.id
                        and t.gate = 'time'
                    order by t.due
                    limit 1),
                exists (
                    select
                    from kinfolk.late l
                    where l.queue_id = v_queue.id),
                exists (
                    select
                    from kinfolk.follow_up f
                    where f.queue_id = v_queue.id
                        and f.ended is not null),
                exists (
                    select
                    from kinfolk.task t
                    where t.queue_id = v_queue.id
                        and t.state = 'pending'
                        and t.gate = 'open'
                        and t.suspect),
                -- Behind marks this look could be a long one: dead entries pile up in every lane.
                v_limited or p_low_id <> '{}' or exists (
                    select
                    from kinfolk.task t
                    where t.queue_id = v_queue.id
                        and t.lane < 'top'
                        and t.state = 'pending'
                        and t.gate = 'open'
                        and not t.suspect)
            into v_next_due, v_late, v_follow_ups, v_suspects, v_beside;
            -- Each of these may bring more of the rest.
            if v_late and not v_promoted then
                select p.left_out or v_left, p.made
                into v_left, v_made
                from kinfolk.promote(v_queue.id, v_now) p;
                v_promoted := true;
            elsif v_next_due <= v_now and not v_opened then
                v_for_others := kinfolk.open_due(v_queue.id, p_commands, v_now);
                v_opened := true;
            else
                exit;
            end if;
        end loop;
        if v_follow_ups then
            v_for_others := kinfolk.open_follow_ups(v_queue.id, p_commands, v_now) or v_for_others;
        end if;
        if v_limited then
            select r.lanes, r.rooms, r.left_out or v_left
            into v_lanes, v_rooms, v_left
            from kinfolk.rooms(v_queue.id, v_queue.family_limit, v_queue.child_limit, v_limit, v_now) r;
            -- What is taken now begins after the end of whatever has made room for it.
            v_now := kinfolk.clock();
        end if;

        if v_groups is not null or v_queue.fair is not null then
            if v_queue.fair is not null then
                v_left := kinfolk.sort_in(v_queue.id, p_commands, v_queue.fair) or v_left;
                p_low_priority := '{}';
                p_low_place := '{}';
                p_low_id := '{}';
                v_suspects := false;
            end if;
            select p.ids, p.tops, p.keyed, p.short, p.more, p.left_out or v_left
            into v_ids, v_tops, v_keyed, v_short, v_more, v_left
            from kinfolk.pick_keyed(p_worker, v_queue.id, p_commands, coalesce(v_groups, '{}'), v_limit,
                v_lanes,
                -- A suspect may stand in a lane in which nothing else is open.
                v_rooms, v_beside or v_suspects, v_limited, v_suspects, p_low_priority, p_low_place,
                p_low_id, v_now) p;
            v_suspects := false;
            -- What is taken now begins after the end of whatever has freed its slots.
            v_now := kinfolk.clock();
            if v_queue.fair is not null and not v_more then
                select v_ids || p.ids, v_tops || p.tops, v_keyed or p.keyed, p.more, p.left_out or v_left
                into v_ids, v_tops, v_keyed, v_more, v_left
                from kinfolk.pick_turns(p_worker, v_queue.id, p_commands, v_limit, v_lanes, v_rooms, v_ids, v_now) p;
            end if;
            v_picked := v_ids;
        elsif v_beside or cardinality(p_commands) > 1 then
            select p.ids, p.tops, p.keyed, p.short
            into v_ids, v_tops, v_keyed, v_short
            from kinfolk.pick(v_queue.id, p_commands, v_limit, case when v_beside then v_lanes else '{top}' end, v_rooms,
                p_low_priority, p_low_place, p_low_id) p;
        else
            -- One command in one lane, no room to watch and no marks: nothing to merge.
            with picked as materialized (
                select t.id, t.unique_held and t.runs = 0 as starts_keyed
                from kinfolk.task t
                where t.queue_id = v_queue.id
                    and t.lane = 'top'
                    and t.command_id = (select c.id from kinfolk.command c where c.name = p_commands[1])
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect
                order by t.priority, t.place, t.id
                limit v_limit
                for update skip locked
            )
            select coalesce(array_agg(p.id), '{}'), bool_or(p.starts_keyed)
            into v_ids, v_keyed
            from picked p;
        end if;
        if v_suspects then
            select p.ids, p.tops, p.keyed
            into v_ids, v_tops, v_keyed
            from kinfolk.pick_suspect(p_worker, v_queue.id, p_commands, v_limit, v_lanes, v_rooms, v_ids) p;
        end if;
        -- point: claim.picked
        if v_queue.family_limit is null then
            v_tops := '{}';
        elsif v_tops <> '{}' then
            -- A root that failed, and is repaired, begins again with what it had spawned.
            perform kinfolk.open_limited(v_tops, v_now);
        end if;
        if v_keyed then
            select f.ids, f.left_out or v_left
            into v_ids, v_left
            from kinfolk.fold(v_ids, v_now, v_made or not v_alone) f;
            if cardinality(v_picked) > cardinality(v_ids) then
                perform kinfolk.drop_slots(array(select unnest(v_picked) except select unnest(v_ids)));
            end if;
        end if;
        -- point: claim.folded
        if cardinality(v_ids) > 0 then
            -- The worker must be there when this commits, or nobody would ever miss it.
            perform from kinfolk.worker w where w.id = p_worker for key share skip locked;
            if not found then
                raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
                    hint = 'register anew';
            end if;
            -- By the index whatever the planner has heard of the table: a join might be planned for an empty one, and kept.
            return query
            update kinfolk.task t
            set
                state = 'running',
                gate = null,
                attempt = t.attempt + 1,
                runs = t.runs + 1,
                started_at = v_now,
                worker_id = p_worker,
                token = p_token,
                ran_by = p_worker,
                unique_held = t.unique_held and t.unique_scope <> 'pending',
                lane = case when t.id = any (v_tops) then 'root'::kinfolk.lane else t.lane end,
                slot = t.lane = 'child' and v_queue.child_limit is not null,
                keyed = ((t.keys is not null and t.command_id = any (v_grouped)) or t.command_id = any (v_total))
                    and (v_holds is not true or kinfolk.has_slot(t.id, t.command_id, t.keys)),
                parked_group = null,
                parked_key = null,
                bounces = 0
            where t.id = any (v_ids)
            returning t.id, case when cardinality(p_commands) = 1 then p_commands[1] else (select c.name from kinfolk.command c where c.id = t.command_id) end,
                coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)), t.attempt::integer, t.max_attempts::integer, t.timeout_us, t.trace,
                t.priority, t.place, null::timestamptz, false, t.parent_id, coalesce(t.root_id, t.id), t.depth::integer,
                case when t.id = any (v_tops) then 'top' else t.lane::text end, null::bigint, t.steps, t.parked, t.keyed,
                null::boolean, null::boolean, null::bigint[], t.keys,
                case when t.runs = 1 then v_now - t.due end;
            get diagnostics v_taken = row_count;
            if exists (select from kinfolk.status) then
                perform kinfolk.note_started(v_ids);
            end if;
        end if;
        if v_for_others then
            perform kinfolk.notify_queues(array[v_queue.id], true);
        end if;
    end if;

    -- Where it was not read, or may have changed since.
    if p_repeated or v_follow_ups or v_keyed or v_next_due <= v_now then
        select t.due
        into v_next_due
        from kinfolk.task t
        where t.queue_id = v_queue.id
            and t.gate = 'time'
        order by t.due
        limit 1;
    end if;
    if v_wakes then
        v_next_due := least(v_next_due, kinfolk.next_wake(v_queue.id, v_asked));
    end if;
    -- point: claim.taken
    select wq.idle
    into v_idle
    from kinfolk.worker_queue wq
    where wq.queue_id = v_queue.id
        and wq.worker_id = p_worker;
    if v_idle is distinct from (v_taken < v_limit) then
        -- One whose lease has ended may be removed at this moment, and with it what is written here: that is not waited for.
        perform from kinfolk.worker w where w.id = p_worker for key share skip locked;
        if not found then
            raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
                hint = 'register anew';
        elsif v_idle is null then
            insert into kinfolk.worker_queue (queue_id, worker_id, idle)
            values (v_queue.id, p_worker, v_taken < v_limit)
            on conflict do nothing;
        else
            update kinfolk.worker_queue wq
            set idle = v_taken < v_limit
            where wq.queue_id = v_queue.id
                and wq.worker_id = p_worker;
        end if;
    end if;
    -- What a repeated call found may have been written by one that was not waited for.
    v_unflushed := p_repeated or ((v_limited or v_groups is not null) and v_taken > 0);
    if p_relaxed and v_alone and (not v_unflushed or v_taken >= 50) then
        perform set_config('synchronous_commit', 'off', true);
    else
        v_unflushed := p_repeated;
    end if;

    return query select null::bigint, null, null::jsonb, null::integer, null::integer, null::bigint, null,
        null::integer, null::timestamptz, v_next_due,
        v_left or v_short or (v_taken < v_limit and not coalesce(v_idle, false)), null::bigint, null::bigint, null::integer, null,
        pg_stat_get_xact_tuples_returned('kinfolk.task_ready'::regclass) - v_steps, null::integer, null::boolean, null::boolean,
        v_more, v_unflushed, case when v_queue.fair is not null then v_ids end, null::jsonb, null::interval;
end
$$;
