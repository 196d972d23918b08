-- Takes care of the tasks of workers whose lease has ended, one page of them, on behalf of a worker that has itself renewed
-- without a gap for a full lease. Decides as `kinfolk_core::decide::recover` does: a suspect gets a strike, and waits longer
-- after each one.
--
-- Locks lost workers by id (passing over those that someone else holds, such as one that renews at this moment), then
-- the families of their running tasks (shared; whole, of those that were suspended before; never waiting), then those tasks by
-- number, passing over those that are being settled or whose handlers are at work in the database, then what `after_ends` locks,
-- upwards.

create or replace function kinfolk.recover(
    p_worker uuid, out returned bigint, out poisoned bigint, out cancelled bigint, out workers bigint, out more boolean
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_now timestamptz;
    v_lost uuid[];
    v_families bigint[];
    v_suspended bigint[];
    v_at_work bigint[];
    v_ends kinfolk.attempt_end[];
    v_queues integer[];
begin
    returned := 0;
    poisoned := 0;
    cancelled := 0;
    workers := 0;
    more := false;
    perform kinfolk.require_read_committed();
    v_now := kinfolk.clock();
    if not kinfolk.may_recover(p_worker, v_now) then
        return;
    end if;
    -- point: recover.begun
    v_lost := kinfolk.lock_lost(p_worker, v_now);
    if v_lost = '{}' then
        return;
    end if;
    select l.families, l.suspended into v_families, v_suspended from kinfolk.lock_lost_families(v_lost) l;
    v_at_work := kinfolk.handlers_at_work();

    -- point: recover.families_locked
    v_ends := kinfolk.decide_lost(v_lost, v_families, v_suspended, v_at_work, v_now);
    perform kinfolk.write_ends(v_ends, v_now);
    select count(*) filter (where e.own_state = 'pending'), count(*) filter (where e.own_state = 'failed'),
        count(*) filter (where e.own_state = 'cancelled'), array_agg(distinct e.queue_id)
    into returned, poisoned, cancelled, v_queues
    from unnest(v_ends) e;
    perform kinfolk.after_ends(v_ends, null, null, v_now);

    -- point: recover.moved
    delete from kinfolk.worker w
    where w.id = any (v_lost)
        and not exists (select from kinfolk.task t where t.worker_id = w.id and t.state = 'running');
    get diagnostics workers = row_count;
    -- What someone else holds at this moment is left for the next sweep, not for a call right after this one.
    more := (cardinality(v_ends) > 0 and workers < cardinality(v_lost)) or (workers > 0 and cardinality(v_lost) >= kinfolk.sweep_page());
    perform kinfolk.notify_queues(v_queues, false);
end
$$;
