-- Looks at waiting tasks after the caller has locked one of their fan-outs and seen that it is over, or that it is awaited by
-- a suspended handler. Resumes a suspended task: it is pending at its old position. Settles a task whose own work is over, if
-- none of its children is open, as `kinfolk_core::decide::join` decides: a failed spawned child fails it, an awaited child
-- does not. Returns the settled tasks.
--
-- Locks the tasks by number. A task that is not waiting now can't begin to wait meanwhile: that takes the family's lock
-- exclusively.
create or replace function kinfolk.settle_owners(p_owners bigint[]) returns kinfolk.ended_owners
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz;
    v_ended kinfolk.ended_owners;
begin
    perform
    from (select distinct o.id from unnest(p_owners) as o(id) order by o.id) o
    cross join lateral (
        select
        from kinfolk.task t
        where t.id = o.id
            -- Said so that no index on that is thought of, only the key.
            and t.state::text = 'waiting'
        for update
    ) t;
    -- The caller's own clock may lie before the end of a child that another settle has counted meanwhile.
    v_now := kinfolk.clock();

    -- point: ended.joining
    v_ended := kinfolk.write_owners(p_owners, v_now);
    if v_ended.holders is not null then
        perform kinfolk.release_slots(v_ended.holders);
    end if;
    if v_ended.resumed is not null then
        perform kinfolk.notify_queues(v_ended.resumed, false);
    end if;
    if v_ended.roots is not null then
        perform kinfolk.root_ended(v_ended.roots, v_ended.root_states);
        perform kinfolk.notify_limited(v_ended.root_queues);
    end if;
    return v_ended;
end
$$;
