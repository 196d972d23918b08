-- Ends a worker: what it holds goes back, at no cost, and its row goes. Takes its row, then its tasks by number.

create or replace function kinfolk.leave(p_worker uuid) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_ids bigint[];
    v_tokens uuid[];
begin
    perform kinfolk.require_read_committed();
    perform from kinfolk.worker w where w.id = p_worker for update;
    if not found then
        return;
    end if;
    select array_agg(t.id order by t.id), array_agg(t.token order by t.id)
    into v_ids, v_tokens
    from kinfolk.task t
    where t.worker_id = p_worker
        and t.state = 'running';
    if v_ids is not null then
        perform kinfolk.settle_rest(v_ids, v_tokens, array_fill('release'::text, array[cardinality(v_ids)]),
            '{}', '{}', '{}', '{}', kinfolk.clock());
    end if;
    delete from kinfolk.worker w where w.id = p_worker;
end
$$;
