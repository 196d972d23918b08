-- Takes care of the tasks of workers whose lease has ended, one page of them, on behalf of a worker that has itself
-- renewed without a gap for a full lease. What is decided here is what `kinfolk_core::decide::recover` decides: a suspect gets a
-- strike, and waits the longer the more it has.
--
-- Locks lost workers by id (passing over those that someone else holds, such as one that renews at this moment), then
-- the families of their running tasks (shared; whole, of those that were suspended before; never waiting), the handlers' locks of those that
-- are run in the database (never waiting: whoever has one is still at work), then those tasks by number, passing over those
-- that are being settled, then what `ended` locks, upwards.

create or replace function kinfolk.recover(
    p_worker uuid, out returned bigint, out poisoned bigint, out cancelled bigint, out workers bigint, out more boolean
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_me record;
    v_now timestamptz;
    v_lost uuid[];
    v_at_work bigint[];
    v_families bigint[];
    v_parked bigint[];
    v_ended record;
    v_gone record;
    v_page integer := kinfolk.sweep_page();
begin
    returned := 0;
    poisoned := 0;
    cancelled := 0;
    workers := 0;
    more := false;
    perform kinfolk.require_read_committed();
    select w.steady_since, w.lease_until, w.lease_us into v_me from kinfolk.worker w where w.id = p_worker;
    if not found then
        raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
            hint = 'register anew';
    end if;
    v_now := kinfolk.clock();
    if v_now > v_me.lease_until or v_now - v_me.steady_since < kinfolk.span(v_me.lease_us) then
        return;
    end if;
    -- point: recover.begun
    with lost as materialized (
        select w.id
        from kinfolk.worker w
        where w.lease_until < v_now
            and w.id <> p_worker
        order by w.id
        limit v_page
        for update skip locked
    )
    select array_agg(l.id order by l.id) into v_lost from lost l;
    if v_lost is null then
        return;
    end if;

    select coalesce(array_agg(distinct page.root_id) filter (where page.root_id is not null), '{}'),
        coalesce(array_agg(distinct coalesce(page.root_id, page.id)) filter (where page.parked), '{}')
    into v_families, v_parked
    from (
        select t.id, t.root_id, t.parked
        from kinfolk.task t
        where t.worker_id = any (v_lost)
            and t.state = 'running'
        order by t.worker_id, t.id
        limit v_page
    ) page;
    -- Someone may hold one and be gone without the server knowing: what is in its family is left for the next sweep.
    select l.p_shared, l.p_whole into v_families, v_parked from kinfolk.try_lock_families(v_families, v_parked) l;

    -- A handler in the database may outlive its worker for a while: its task is left alone until its connection is gone.
    -- It is looked for among the locks, not tried: a lost worker may have run more tasks than there is room for locks. One that
    -- begins only now has the next attempt wait for it, and is refused at its end.
    v_at_work := array(
        select l.objid::bigint
        from pg_locks l
        where l.locktype = 'advisory'
            and l.classid = 1263160908
            and l.database = (select d.oid from pg_database d where d.datname = current_database())
            and l.granted);

    -- point: recover.families_locked
    with held as materialized (
        select t.id, t.fan_out_id, t.nth, t.root_id, t.parked, t.keyed, t.queue_id, t.runs, t.attempt, t.suspect, t.strikes,
            t.started_at, t.worker_id, c.max_strikes,
            t.cancel_requested_at is not null as is_cancelled,
            w.renewed_at < kinfolk.server_started_at() as is_restart
        from kinfolk.task t
        join kinfolk.worker w on w.id = t.worker_id
        join kinfolk.command c on c.id = t.command_id
        where t.worker_id = any (v_lost)
            and t.state = 'running'
            and (t.root_id is null or t.root_id = any (v_families))
            and (not t.parked or coalesce(t.root_id, t.id) = any (v_parked))
            and hashint8(t.id)::bigint & 4294967295 <> all (v_at_work)
        order by t.worker_id, t.id
        limit v_page
        for update of t skip locked
    ),
    struck as (
        select h.*, h.suspect and not h.is_restart as is_struck,
            h.strikes + (h.suspect and not h.is_restart)::integer as next_strikes
        from held h
    ),
    decided as (
        select s.*,
            case
                when s.is_cancelled then 'cancelled'
                when s.is_struck and s.next_strikes >= s.max_strikes then 'failed'
                else 'pending'
            end::kinfolk.state as own_state
        from struck s
    ),
    joined as materialized (
        select d.*,
            case
                when d.own_state <> 'pending' and d.parked and exists (
                    select
                    from kinfolk.fan_out f
                    where f.task_id = d.id
                        and f.completed + f.failed + f.cancelled < f.total) then 'waiting'
                else d.own_state
            end::kinfolk.state as next_state
        from decided d
    ),
    moved as (
        update kinfolk.task t
        set
            state = d.next_state,
            outcome = case when d.next_state = 'waiting' then d.own_state end,
            gate = case when d.next_state = 'pending' then case when d.is_struck then 'time' else 'open' end::kinfolk.gate end,
            due = case
                when d.next_state = 'pending' and d.is_struck then v_now + kinfolk.strike_delay(d.next_strikes)
                else t.due
            end,
            finished_at = case when d.next_state >= 'completed' then v_now end,
            worker_id = null,
            token = null,
            attempt = greatest(t.attempt - 1, 0),
            suspect = t.suspect or not d.is_restart,
            strikes = d.next_strikes,
            failure = case d.own_state
                when 'cancelled' then case when d.next_state = 'cancelled' then kinfolk.failure_cancelled() end
                when 'failed' then kinfolk.failure_poison(d.next_strikes)
                else kinfolk.failure_lost(d.worker_id)
            end,
            unique_held = t.unique_held and (d.next_state < 'completed' or t.unique_scope = 'window'),
            slot = false,
            lane = case
                when t.parent_id is null and d.next_state >= 'completed' then 'top'::kinfolk.lane
                else t.lane
            end
        from joined d
        where t.id = d.id
    ),
    ended as (
        insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending, failure)
        select d.id, d.runs, d.attempt, d.started_at, v_now, d.worker_id, 'lost', kinfolk.failure_lost(d.worker_id)
        from joined d
    )
    select count(*) filter (where d.own_state = 'pending') as returned,
        count(*) filter (where d.own_state = 'failed') as poisoned,
        count(*) filter (where d.own_state = 'cancelled') as cancelled,
        array_agg(distinct d.queue_id) as queues,
        array_agg(d.id) as ids,
        array_agg(d.attempt) as attempts,
        array_agg(kinfolk.failure_lost(d.worker_id)) as failures,
        array_agg(d.fan_out_id) filter (where d.fan_out_id is not null and d.next_state >= 'completed') as fan_outs,
        array_agg(d.nth) filter (where d.fan_out_id is not null and d.next_state >= 'completed') as children,
        array_agg(d.next_state) filter (where d.fan_out_id is not null and d.next_state >= 'completed') as states,
        array_agg(d.id) filter (where d.next_state = 'waiting') as waiting,
        array_agg(d.id) filter (where d.next_state = 'waiting' and d.own_state = 'failed') as failed,
        array_agg(d.id) filter (where d.parked and d.root_id is null and d.next_state >= 'completed') as roots,
        array_agg(d.next_state) filter (where d.parked and d.root_id is null and d.next_state >= 'completed') as root_states,
        array_agg(d.id) filter (where d.keyed) as keyed
    into v_ended
    from joined d;
    returned := v_ended.returned;
    poisoned := v_ended.poisoned;
    cancelled := v_ended.cancelled;
    if v_ended.waiting is not null then
        perform kinfolk.wait_for_family(v_ended.waiting);
    end if;
    select c.fan_outs, c.children, c.was_after into v_gone from kinfolk.cancel_with(v_ended.failed, v_now) c;
    if v_ended.fan_outs is not null or v_gone.fan_outs is not null then
        perform kinfolk.ended(v_gone.fan_outs || v_ended.fan_outs, v_gone.children || v_ended.children,
            array_fill('cancelled'::kinfolk.state, array[coalesce(cardinality(v_gone.fan_outs), 0)]) || v_ended.states,
            v_gone.was_after, v_now);
    end if;
    if v_ended.roots is not null then
        perform kinfolk.root_ended(v_ended.roots, v_ended.root_states);
    end if;

    perform kinfolk.drop_intents(v_ended.ids);
    if v_ended.ids is not null then
        perform kinfolk.tell_errors(v_ended.ids, v_ended.attempts, v_ended.failures);
    end if;
    if v_ended.keyed is not null then
        perform kinfolk.release_slots(v_ended.keyed);
    end if;

    -- point: recover.moved
    delete from kinfolk.worker w
    where w.id = any (v_lost)
        and not exists (select from kinfolk.task t where t.worker_id = w.id and t.state = 'running');
    get diagnostics workers = row_count;
    -- What someone else holds at this moment is left for the next sweep, not for a call right after this one.
    more := (returned + poisoned + cancelled > 0 and workers < cardinality(v_lost))
        or (workers > 0 and cardinality(v_lost) >= v_page);
    perform kinfolk.notify_queues(v_ended.queues, false);
end
$$;
