-- Puts a worker down as idle on a queue, or as busy. Locks its row against its removal (`skip locked`).

create or replace function kinfolk.put_idle(p_worker uuid, p_queue integer, p_idle boolean) returns void
language plpgsql volatile
as $$
begin
    perform from kinfolk.worker w where w.id = p_worker for key share skip locked;
    if not found then
        raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker), hint = 'register anew';
    end if;
    update kinfolk.worker_queue wq
    set idle = p_idle
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker;
    if not found then
        insert into kinfolk.worker_queue (queue_id, worker_id, idle)
        values (p_queue, p_worker, p_idle)
        on conflict do nothing;
    end if;
end
$$;
