-- Wakes workers that sleep on the queues of these commands (or on the queue given beside one). Called by a store after
-- its enqueue has committed, so that a worker that went to sleep at that very moment is seen. A lost wake-up only costs
-- a poll, so the commit is not waited for.
--
-- Locks nothing. One look-up by key for each command, its queue and the queue's workers; a queue named twice is notified
-- once, since the server drops what a transaction says twice. It is on the way of every task to an idle worker: its
-- plan is made once a session.

create or replace function kinfolk.wake(p_commands text[], p_queues text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
    if pg_current_xact_id_if_assigned() is null then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    perform pg_notify('kinfolk', 'q:' || q.name)
    from unnest(p_commands, p_queues) as g(command, queue)
    cross join lateral (
        select coalesce((select n.id from kinfolk.queue n where n.name = g.queue), c.queue_id) as id
        from kinfolk.command c
        where c.name = g.command
        offset 0
    ) o
    cross join lateral (
        select n.name
        from kinfolk.queue n
        where n.id = o.id
        offset 0
    ) q
    where exists (
        select
        from kinfolk.worker_queue wq
        where wq.queue_id = o.id
            and wq.idle
        offset 0);
end
$$;
