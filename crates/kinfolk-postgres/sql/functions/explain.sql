-- Why a task is not running: one row for each reason, in the order of `kinfolk_core::explain::Reason`, with the words of that type;
-- one row without a reason for a task that runs or has ended. KF002 when there is no such task.
--
-- Looks at what is there, not at what a claim has noted down. Locks nothing; all of it is seen by one snapshot.

create or replace function kinfolk.explain(task bigint)
returns table (state text, seen_at timestamptz, worker uuid, reason text, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_task kinfolk.task;
    v_now timestamptz := kinfolk.clock();
    v_reasons text[];
    v_details jsonb[];
begin
    select t.* into v_task from kinfolk.task t where t.id = explain.task;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', explain.task);
    end if;
    if v_task.state = 'waiting' then
        select array_agg(r.reason order by r.nth), array_agg(r.detail order by r.nth)
        into v_reasons, v_details
        from kinfolk.why_waiting(v_task) r;
    elsif v_task.state = 'pending' then
        select array_agg(r.reason order by r.nth, r.name), array_agg(r.detail order by r.nth, r.name)
        into v_reasons, v_details
        from (
            select p.nth, p.reason, p.detail, '' as name from kinfolk.why_pending(v_task, v_now) p
            union all
            select k.nth, k.reason, k.detail, k.name from kinfolk.why_keys(v_task, v_now) k
        ) r;
        if v_reasons is null then
            v_reasons := '{in_line}';
            v_details := array[jsonb_build_object('before', kinfolk.count_before(v_task))];
        end if;
    end if;
    return query
    select v_task.state::text, v_now, v_task.worker_id, r.reason, r.detail
    from (select) one
    left join unnest(v_reasons, v_details) as r(reason, detail) on true;
end
$$;

-- What a task waits for whose own work is over, or whose handler is suspended. Reads `fan_out_task` and `task_fan_out`.
create or replace function kinfolk.why_waiting(p_task kinfolk.task)
returns table (nth integer, reason text, detail jsonb)
language sql stable
as $$
    select 1, 'children', jsonb_build_object(
        'tally', jsonb_build_object('total', c.total, 'completed', c.completed, 'failed', c.failed, 'cancelled', c.cancelled),
        'open', kinfolk.shown(array(
            select o.id
            from kinfolk.fan_out f
            cross join lateral (
                -- By `nth`, which is the order of their numbers too: in that of numbers all tasks there are would be looked through.
                select t.id
                from kinfolk.task t
                where t.fan_out_id = f.id
                    and t.state::text in ('pending', 'running', 'waiting')
                order by t.nth
                limit kinfolk.holders_shown_max()
            ) o
            where f.task_id = p_task.id
                and f.completed + f.failed + f.cancelled < f.total
            order by o.id
            limit kinfolk.holders_shown_max())))
    from (
        select sum(f.total) as total, sum(f.completed) as completed, sum(f.failed) as failed, sum(f.cancelled) as cancelled
        from kinfolk.fan_out f
        where f.task_id = p_task.id
    ) c
    where c.completed + c.failed + c.cancelled < c.total
    union all
    select 2, 'signal', jsonb_build_object('names', to_jsonb(p_task.signals))
    where p_task.signals is not null
    union all
    select 3, 'asleep', jsonb_build_object('until', p_task.due)
    where p_task.gate = 'time'
$$;

-- What keeps a pending task back beside its keys: its time, its turn, its queue, the workers.
create or replace function kinfolk.why_pending(p_task kinfolk.task, p_now timestamptz)
returns table (nth integer, reason text, detail jsonb)
language sql stable
as $$
    select 4, 'not_due', jsonb_build_object('until', p_task.due)
    where p_task.gate = 'time'
        and p_task.due > p_now
    union all
    select 5, 'families', jsonb_build_object('roots', kinfolk.shown(r.roots))
    from (
        select array_agg(f.root_id order by f.root_id) as roots
        from kinfolk.follow_up f
        where f.task_id = p_task.id
            and f.ended is null
            and p_task.gate = 'after'
    ) r
    where r.roots is not null
    union all
    select 6, 'sibling', jsonb_build_object('task', s.id)
    from (
        select s.id
        from kinfolk.task s
        where p_task.gate = 'after'
            and s.fan_out_id = p_task.fan_out_id
            and s.nth <> p_task.nth
            and s.state::text in ('pending', 'running', 'waiting')
        -- The nearest before it; else the nearest behind it.
        order by s.nth > p_task.nth, abs(s.nth - p_task.nth)
        limit 1
    ) s
    union all
    select 7, 'paused', jsonb_build_object('queue', q.name, 'since', q.paused_at, 'by', q.paused_by)
    from kinfolk.queue q
    where q.id = p_task.queue_id
        and q.paused_at is not null
    union all
    select 8, 'family_limit', f.detail
    from kinfolk.why_family(p_task) f
    union all
    select 9, 'child_limit', jsonb_build_object('queue', q.name, 'limit', q.child_limit, 'holders', kinfolk.shown(h.ids))
    from kinfolk.queue q
    cross join lateral (
        select array_agg(t.id order by t.id) as ids
        from kinfolk.task t
        where t.queue_id = q.id
            and t.slot
    ) h
    where q.id = p_task.queue_id
        and p_task.parent_id is not null
        and coalesce(cardinality(h.ids), 0) >= q.child_limit
    union all
    select 13 + (not w.suspect)::integer, case when w.suspect then 'suspect' else 'no_worker' end,
        case when w.suspect then '{}' else jsonb_build_object('queue', q.name, 'command', c.name) end
    from kinfolk.queue q
    join kinfolk.command c on c.id = p_task.command_id
    cross join lateral (
        select count(*) as live, coalesce(bool_and(exists (
                select
                from kinfolk.task t
                where t.worker_id = w.id
                    and t.state = 'running'
                    and t.suspect)), false) and p_task.suspect as suspect
        from kinfolk.worker w
        where w.lease_until >= p_now
            and q.name = any (w.queues)
            and c.name = any (w.commands)
    ) w
    where q.id = p_task.queue_id
        and (w.live = 0 or w.suspect)
$$;

-- Whether the limit of families keeps a task back: a new root while as many are at work as may be, or a member of a family that
-- waits to be let in again. Reads `task_at_work`.
create or replace function kinfolk.why_family(p_task kinfolk.task) returns table (detail jsonb)
language sql stable
as $$
    select jsonb_build_object('queue', q.name, 'limit', q.family_limit, 'roots', kinfolk.shown(w.ids))
    from kinfolk.task r
    join kinfolk.queue q on q.id = r.queue_id
    cross join lateral (
        select array_agg(t.id order by t.id) as ids
        from kinfolk.task t
        where t.queue_id = q.id
            and t.lane = 'root'
            and t.finished_at is null
    ) w
    where r.id = coalesce(p_task.root_id, p_task.id)
        and q.family_limit is not null
        and ((p_task.root_id is null and p_task.lane = 'top' and coalesce(cardinality(w.ids), 0) >= q.family_limit)
            or (p_task.gate = 'limit' and p_task.parked_group is null))
$$;

-- What keeps a task back under its keys, of each: its slots are taken, its room is kept for another, its rate is used up.
-- `name`: of the group. Reads the pages of `slot` on which those keys stand.
create or replace function kinfolk.why_keys(p_task kinfolk.task, p_now timestamptz)
returns table (nth integer, reason text, detail jsonb, name text)
language sql stable
as $$
    with need as materialized (
        select cg.group_id, cg.name, coalesce(p_task.keys ->> cg.name, '') as key, g.command_id,
            not (g.hold and kinfolk.holds_slot(p_task.id, g.id, coalesce(p_task.keys ->> cg.name, ''))) as takes,
            row_number() over (order by cg.name) as nth
        from kinfolk.command_group cg
        join kinfolk.slot_group g on g.id = cg.group_id
        where cg.command_id = p_task.command_id
            and (cg.name = 'total' or p_task.keys ? cg.name)
    ),
    listed as materialized (
        select array_agg(n.group_id order by n.nth) as groups, array_agg(n.key order by n.nth) as keys from need n
    ),
    room as materialized (
        select n.group_id, n.name, n.key, s.slots, h.held, h.ids, s.slots - h.held as free, r.starts, r.opens_at,
            case when r.keeps then r.kept_for end as kept_for, n.takes,
            jsonb_build_object('key', n.key, 'group', jsonb_build_object('name', n.name, 'command', c.name)) as named
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
        join need n on n.group_id = r.group_id and n.key = r.key
        left join kinfolk.command c on c.id = n.command_id
        cross join lateral (select kinfolk.slots_of(n.group_id, n.key) as slots) s
        cross join lateral (
            select count(*) as held, array_agg(h.task_id order by h.task_id) as ids
            from kinfolk.holders_of(n.group_id, n.key) h
        ) h
    )
    select 10, 'key_full',
        r.named || jsonb_build_object('limit', r.slots, 'held', r.held, 'holders', kinfolk.shown(r.ids)), r.name
    from room r
    where r.takes
        and r.free <= 0
    union all
    select 11, 'key_kept', r.named || jsonb_build_object('task', r.kept_for), r.name
    from room r
    where r.kept_for <> p_task.id
        and ((r.takes and r.free = 1) or r.starts = 1)
    union all
    select 12, 'key_rate', r.named || jsonb_build_object('until', r.opens_at), r.name
    from room r
    where r.starts <= 0
$$;

-- How many open tasks of its queue stand before a task, counted no further than a page. Reads `task_ready` and `task_suspect` by
-- command, and on a queue with a fair key the lines that `sort_in` has made.
create or replace function kinfolk.count_before(p_task kinfolk.task) returns bigint
language sql stable
as $$
    select count(*)
    from (
        select
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            (
                select
                from kinfolk.task t
                where t.queue_id = p_task.queue_id
                    and t.lane = l.lane
                    and t.command_id = c.id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect
                    and (t.priority, t.place, t.id) < (p_task.priority, p_task.place, p_task.id)
                limit kinfolk.page_max()
            )
            union all
            (
                select
                from kinfolk.task t
                where t.queue_id = p_task.queue_id
                    and t.lane = l.lane
                    and t.command_id = c.id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and t.suspect
                    and (t.priority, t.place, t.id) < (p_task.priority, p_task.place, p_task.id)
                limit kinfolk.page_max()
            )
        ) before
        union all
        select
        from kinfolk.turn_lines(p_task.queue_id) l
        cross join lateral (
            select
            from kinfolk.task t
            where t.parked_group = -p_task.queue_id
                and t.parked_key = l.value
                and t.queue_id = p_task.queue_id
                and t.command_id = l.command_id
                and t.lane = l.lane
                and t.gate = 'limit'
                and (t.priority, t.place, t.id) < (p_task.priority, p_task.place, p_task.id)
            limit kinfolk.page_max()
        ) before
        limit kinfolk.page_max()
    ) counted
$$;

-- The lines of a queue with a fair key: of each value those by command and lane that have someone in them. Steps from one to the
-- next in `task_parked`, however many stand in each, and no further than it is asked.
create or replace function kinfolk.turn_lines(p_queue integer)
returns table (value text, command_id integer, lane kinfolk.lane)
language sql stable
as $$
    with recursive line as (
        (
            select t.parked_key as value, t.command_id, t.lane
            from kinfolk.task t
            where t.parked_group = -p_queue
                and t.gate = 'limit'
            order by t.parked_group, t.parked_key, t.queue_id, t.command_id, t.lane
            limit 1
        )
        union all
        select n.value, n.command_id, n.lane
        from line l
        cross join lateral (
            select t.parked_key as value, t.command_id, t.lane
            from kinfolk.task t
            where t.parked_group = -p_queue
                and t.gate = 'limit'
                and (t.parked_key, t.queue_id, t.command_id, t.lane) > (l.value, p_queue, l.command_id, l.lane)
            order by t.parked_group, t.parked_key, t.queue_id, t.command_id, t.lane
            limit 1
        ) n
    )
    select l.value, l.command_id, l.lane from line l
$$;

-- As many tasks as are named when something is shown.
create or replace function kinfolk.shown(p_tasks bigint[]) returns jsonb
language sql immutable
as $$ select to_jsonb(coalesce(p_tasks[:kinfolk.holders_shown_max()], '{}')) $$;
