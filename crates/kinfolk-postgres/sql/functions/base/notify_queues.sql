-- Wakes the workers of queues, once for each queue, when the transaction commits. With `p_idle_only`, only queues on
-- which a worker was left with room to spare: a queue whose workers are all busy is claimed from again anyway.
-- A transaction that puts its wake-ups off (`put_off_wakes`) only collects the queues.

create or replace function kinfolk.notify_queues(p_queues integer[], p_idle_only boolean) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_put_off text := current_setting('kinfolk.wakes', true);
begin
    if v_put_off <> '' then
        perform set_config('kinfolk.wakes', (v_put_off::integer[] || p_queues)::text, true);
        return;
    end if;
    perform pg_notify('kinfolk', 'q:' || q.name)
    from kinfolk.queue q
    where q.id = any (p_queues)
        and exists (
            select
            from kinfolk.worker_queue wq
            where wq.queue_id = q.id
                and (wq.idle or not p_idle_only));
end
$$;
