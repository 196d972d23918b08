-- Lets what failed in the family of a task run again: the root must have failed. Tasks that failed by themselves, and those
-- that were skipped because of it, become pending with fresh attempts; parents that failed because of them wait again.
-- Answers how many of each. What lies below a task that was cancelled stays as it is. Errors: KF002 when there is no such
-- task; KF003 (detail: the root's state) when the root has not failed.
--
-- Locks the family as a whole, then the root, then the other tasks by number, then their fan-outs. Reads `fan_out_task` and
-- `task_fan_out`, and of each fan-out that is set going again all children, to count them anew.

create or replace function kinfolk.retry_family(p_task bigint, out pending bigint, out waiting bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_root record;
    v_now timestamptz;
    v_gate kinfolk.gate;
    v_revived record;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_family_of(p_task);
    -- Whoever removes the family by retention holds the root's row.
    select r.id, r.state, r.queue_id, r.outcome is not null and q.family_limit is not null as is_limited
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task
    for update of r;
    if not found then
        perform kinfolk.refuse('KF002', format('there is no task %s', p_task));
    elsif v_root.state <> 'failed' then
        perform kinfolk.refuse('KF003', format('task %s, the root of the family, is %s', v_root.id, v_root.state),
            'only a failed family can be retried', v_root.state::text);
    end if;
    v_now := kinfolk.clock();
    v_gate := case when v_root.is_limited then 'limit' else 'open' end;

    with recursive revived as (
        select t.id, t.queue_id, t.fan_out_id, t.nth, t.outcome is not null as waits, 'together'::kinfolk.child_order as child_order
        from kinfolk.task t
        where t.id = v_root.id
        union all
        select c.id, c.queue_id, c.fan_out_id, c.nth, c.outcome is not null, f.child_order
        from revived r
        cross join lateral (select f.id, f.child_order from kinfolk.fan_out f where f.task_id = r.id offset 0) f
        cross join lateral (
            select c.id, c.queue_id, c.fan_out_id, c.nth, c.outcome
            from kinfolk.task c
            where c.fan_out_id = f.id
                and (c.state = 'failed' or (c.state = 'cancelled' and c.failure ->> 'kind' = 'skipped'))
            offset 0
        ) c
        where r.waits
    ),
    gated as (
        select r.id, r.queue_id, r.waits,
            case
                when r.waits then null
                when r.child_order <> 'together' and row_number() over (partition by r.fan_out_id order by r.nth) > 1 then 'after'
                else v_gate
            end as gate
        from revived r
    )
    select array_agg(g.id order by g.id) filter (where not g.waits) as pending,
        array_agg(g.gate order by g.id) filter (where not g.waits) as gates,
        array_agg(g.id order by g.id) filter (where g.waits) as waiting,
        array_agg(distinct g.queue_id) filter (where not g.waits or g.id = v_root.id) as queues
    into v_revived
    from gated g;
    pending := coalesce(cardinality(v_revived.pending), 0);
    waiting := coalesce(cardinality(v_revived.waiting), 0);

    update kinfolk.task t
    set
        state = 'pending',
        gate = g.gate,
        due = v_now,
        attempt = 0,
        suspect = false,
        strikes = 0,
        started_at = null,
        finished_at = null,
        cancel_requested_at = null,
        token = null,
        result = null,
        failure = null
    from unnest(v_revived.pending, v_revived.gates) as g(id, gate)
    where t.id = g.id;
    update kinfolk.task t
    set
        state = 'waiting',
        finished_at = null,
        cancel_requested_at = null,
        failure = null
    from unnest(v_revived.waiting) as g(id)
    where t.id = g.id;
    perform kinfolk.recount(array(
        select f.id
        from unnest(v_revived.waiting) as g(id)
        join kinfolk.fan_out f on f.task_id = g.id));
    perform kinfolk.notify_queues(v_revived.queues, false);
end
$$;

-- Counts the children of fan-outs anew, and sets right what is known of the order in which they ended. Locks the fan-outs,
-- deepest first, then by id.
create or replace function kinfolk.recount(p_fan_outs bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    perform from kinfolk.fan_out f where f.id = any (p_fan_outs) order by f.depth desc, f.id for update;
    update kinfolk.fan_out f
    set
        waits = n.waits,
        total = n.total,
        completed = n.completed,
        failed = n.failed,
        cancelled = n.cancelled,
        held = n.held
    from unnest(p_fan_outs) as g(id)
    cross join lateral (
        select count(*) as total,
            count(*) filter (where c.state = 'completed') as completed,
            count(*) filter (where c.state = 'failed') as failed,
            count(*) filter (where c.state = 'cancelled') as cancelled,
            count(*) filter (where c.gate = 'after') as held,
            exists (
                select
                from kinfolk.fan_out o
                join kinfolk.task t on t.id = o.task_id
                where o.id = g.id
                    and t.state = 'waiting'
                    and t.outcome is not null) as waits
        from kinfolk.task c
        where c.fan_out_id = g.id
    ) n
    where f.id = g.id
        and f.id = any (p_fan_outs);
    perform kinfolk.reorder(f.id) from kinfolk.fan_out f where f.id = any (p_fan_outs) and f.rule is not null;
end
$$;

-- Writes the order anew in which the children of a fan-out ended that have: those that it knew of in their old order, then the
-- others by `nth`.
create or replace function kinfolk.reorder(p_fan_out bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
as $$
declare
    v_nths integer[] := array(
        select c.nth
        from kinfolk.task c
        left join (
            select n.nth, p.first + n.place as place
            from kinfolk.ended_page p
            cross join lateral unnest(p.nths) with ordinality as n(nth, place)
            where p.fan_out_id = p_fan_out
        ) o on o.nth = c.nth
        where c.fan_out_id = p_fan_out
            and c.state >= 'completed'
        order by o.place, c.nth);
begin
    delete from kinfolk.ended_page p where p.fan_out_id = p_fan_out;
    insert into kinfolk.ended_page (fan_out_id, first, nths)
    select p_fan_out, i, v_nths[i + 1:i + kinfolk.page_max()]
    from generate_series(0, cardinality(v_nths) - 1, kinfolk.page_max()) i;
end
$$;
