-- Ends a worker: what it holds goes back, at no cost, and its row goes. Takes its row, then the families of its tasks (shared;
-- whole, of those that were suspended before), then the tasks by number, waiting a second for those that are being settled at
-- this moment: a call that was given up may not have ended yet. One that stays held longer is recovered, since the lease ends
-- here.

create or replace function kinfolk.leave(p_worker uuid) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_ids bigint[];
    v_tokens uuid[];
    v_families bigint[];
    v_suspended bigint[];
begin
    if p_worker is null then
        raise exception using errcode = 'KF001', message = 'p_worker is null',
            hint = 'give the id that the worker registered with';
    end if;
    perform kinfolk.require_read_committed();
    perform from kinfolk.worker w where w.id = p_worker for update;
    if not found then
        return;
    end if;
    select coalesce(array_agg(distinct t.root_id) filter (where t.root_id is not null), '{}'),
        coalesce(array_agg(distinct coalesce(t.root_id, t.id)) filter (where t.was_suspended), '{}')
    into v_families, v_suspended
    from kinfolk.task t
    where t.worker_id = p_worker
        and t.state = 'running';
    perform kinfolk.lock_families(v_families, v_suspended);
    perform kinfolk.wait_for_tasks(p_worker);
    with held as materialized (
        select t.id, t.token
        from kinfolk.task t
        where t.worker_id = p_worker
            and t.state = 'running'
            and (t.root_id is null or t.root_id = any (v_families))
            and (not t.was_suspended or coalesce(t.root_id, t.id) = any (v_suspended))
        order by t.id
        for update skip locked
    )
    select array_agg(h.id order by h.id), array_agg(h.token order by h.id)
    into v_ids, v_tokens
    from held h;
    if v_ids is not null then
        perform kinfolk.settle_rest(
            row(v_ids, v_tokens, array_fill('release'::text, array[cardinality(v_ids)]), '{}', '{}', '{}')::kinfolk.settles,
            '{}', kinfolk.clock(), v_families, v_suspended);
    end if;
    if exists (select from kinfolk.task t where t.worker_id = p_worker and t.state = 'running') then
        update kinfolk.worker w set lease_until = kinfolk.clock() - interval '1 microsecond' where w.id = p_worker;
    else
        delete from kinfolk.worker w where w.id = p_worker;
    end if;
end
$$;
