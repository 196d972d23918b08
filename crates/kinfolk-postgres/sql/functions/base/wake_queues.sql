-- Wakes workers that sleep on these queues, after a transaction that put that off. A lost wake-up only costs a poll, so the
-- commit is not waited for. Locks nothing. One look-up by key for each queue and its workers.

create or replace function kinfolk.wake_queues(p_queues integer[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if pg_current_xact_id_if_assigned() is null then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    perform kinfolk.notify_queues(p_queues, true);
end
$$;
