-- Renews a worker's lease, and answers which of its tasks are asked to end. Locks the worker's row. Reads `task_asked`,
-- which holds nothing else: in `task_running` the dead entries of all that ran would lie before it.

create or replace function kinfolk.heartbeat(p_worker uuid) returns table (id bigint, token uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
begin
    if p_worker is null then
        raise exception using errcode = 'KF001', message = 'p_worker is null', hint = 'give the id that the worker registered with';
    end if;
    perform kinfolk.require_read_committed();
    perform from kinfolk.worker w where w.id = p_worker for no key update;
    if not found then
        raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
            hint = 'register anew';
    end if;
    v_now := kinfolk.clock();
    update kinfolk.worker w
    set
        renewed_at = v_now,
        lease_until = v_now + kinfolk.span(w.lease_us),
        steady_since = case when v_now > w.lease_until then v_now else w.steady_since end
    where w.id = p_worker;

    return query
    select t.id, t.token
    from kinfolk.task t
    where t.worker_id = p_worker
        and t.state = 'running'
        and t.cancel_requested_at is not null
    order by t.id;
end
$$;
