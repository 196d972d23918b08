-- The lanes of a queue that a claim may take from, and how many of each: all it likes, unless the queue has limits. Where
-- families have a limit and there is room, families that wait to be let in again after a repair go first.
-- `left_out`: someone else had in hand what was needed, and it is worth looking again.
--
-- The caller holds the queue's admission lock if it has limits: what is counted here stays so until it commits. Counts by
-- `task_at_work` and `task_slot`, and no further than the limit.

create or replace function kinfolk.rooms(
    p_queue integer, p_family_limit integer, p_child_limit integer, p_limit integer, p_now timestamptz,
    out lanes kinfolk.lane[], out rooms integer[], out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_families integer := p_limit;
    v_children integer := p_limit;
    v_admitted integer;
begin
    left_out := false;
    if p_family_limit is not null then
        select p_family_limit - count(*)
        into v_families
        from (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = 'root'
                and t.finished_at is null
            limit p_family_limit
        ) at_work;
        if v_families > 0 then
            select a.admitted, a.left_out into v_admitted, left_out from kinfolk.admit(p_queue, v_families, p_now) a;
            v_families := least(v_families - v_admitted, p_limit);
        end if;
    end if;
    if p_child_limit is not null then
        select least(p_child_limit - count(*), p_limit)
        into v_children
        from (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.slot
            limit p_child_limit
        ) running;
    end if;
    select array_agg(r.lane), array_agg(r.room)
    into lanes, rooms
    from (values ('top'::kinfolk.lane, v_families), ('root', p_limit), ('child', v_children)) as r(lane, room)
    where r.room > 0;
end
$$;

-- Lets families in again that were repaired and whose root waits in the lane `top`, as many as there is room for, in the
-- order of the claim: the root goes to the lane `root`, and what waits behind the gate `limit` is opened, on whatever
-- queue. Reads `task_revived` and `task_limited`.
--
-- Locks the roots, and their families whole, never waiting: where someone is at work in a family, it is left for later.
create or replace function kinfolk.admit(
    p_queue integer, p_room integer, p_now timestamptz, out admitted integer, out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_root bigint;
begin
    admitted := 0;
    left_out := false;
    for v_root in
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.state = 'waiting'
            and t.lane = 'top'
        order by t.priority, t.place, t.id
        limit p_room
        for update skip locked
    loop
        if not kinfolk.try_lock_family(v_root) then
            left_out := true;
            continue;
        end if;
        admitted := admitted + 1;
        update kinfolk.task t set lane = 'root' where t.id = v_root;
        perform kinfolk.open_limited(array[v_root], p_now);
    end loop;
end
$$;

-- Opens what waits behind the gate `limit` in families that have been let in, on whatever queue. Passes over rows that someone else
-- holds: only whoever cancels them does. Reads `task_limited`.
create or replace function kinfolk.open_limited(p_roots bigint[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues integer[];
begin
    with held as materialized (
        select t.id
        from unnest(p_roots) as r(id)
        cross join lateral (
            select t.id
            from kinfolk.task t
            where t.root_id = r.id
                and t.gate = 'limit'
                and t.parked_group is null
            for update skip locked
        ) t
    ),
    opened as (
        update kinfolk.task t
        set gate = case when t.due > p_now then 'time'::kinfolk.gate else 'open'::kinfolk.gate end
        from held h
        where t.id = h.id
        returning t.queue_id
    )
    select array_agg(distinct o.queue_id) into v_queues from opened o;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
