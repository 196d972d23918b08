-- Wakes workers that sleep on the queues of these commands (or on the queue given beside one). Called by a store after
-- its enqueue has committed, so that a worker that went to sleep at that very moment is seen. A lost wake-up only costs
-- a poll, so the commit is not waited for.

create or replace function kinfolk.wake(p_commands text[], p_queues text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_queues integer[] := array(
        select distinct coalesce(q.id, c.queue_id)
        from unnest(p_commands, p_queues) as g(command, queue)
        join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue);
begin
    if pg_current_xact_id_if_assigned() is null then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    perform kinfolk.notify_queues(v_queues, true);
end
$$;
