-- Makes a queue, or changes its policy: how long it keeps what is finished, by final state, in microseconds (null keeps it
-- for good), its limits (null is none), and the group by whose keys its tasks take turns (null: none).
--
-- A change of limits takes the queue's advisory lock whole, as a pause does: no claim is under way while what runs is
-- sorted into lanes and slots. Then it takes the families that are to be let in, whole; then tasks, never waiting for one
-- that someone else has in hand; then the queue. Errors: KF007 when tasks are in other hands time and again.

create or replace function kinfolk.set_queue(
    p_name text, p_keep_completed_us bigint, p_keep_failed_us bigint, p_keep_cancelled_us bigint,
    p_family_limit integer default null, p_child_limit integer default null, p_depth_limit integer default null,
    p_fair text default null
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_depth_limit integer := coalesce(p_depth_limit, kinfolk.depth_max());
    v_old record;
    v_locked boolean := false;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_name('queue', p_name);
    perform kinfolk.require_limits(p_family_limit, p_child_limit, v_depth_limit);
    if least(p_keep_completed_us, p_keep_failed_us, p_keep_cancelled_us) < 0 then
        raise exception using errcode = 'KF001', message = 'p_keep_completed_us, p_keep_failed_us or p_keep_cancelled_us is negative',
            hint = 'give a span in microseconds; null keeps for good';
    end if;
    if p_fair is not null then
        perform kinfolk.require_name('group', p_fair);
    end if;
    if p_fair = 'total' then
        raise exception using errcode = 'KF001', message = 'the group total has no keys that could take turns',
            hint = 'name another group';
    end if;
    insert into kinfolk.queue
        (name, keep_completed_us, keep_failed_us, keep_cancelled_us, family_limit, child_limit, depth_limit, fair)
    values
        (p_name, p_keep_completed_us, p_keep_failed_us, p_keep_cancelled_us, p_family_limit, p_child_limit, v_depth_limit,
        p_fair)
    on conflict (name) do nothing;
    if found then
        return;
    end if;

    loop
        select q.id, q.family_limit, q.child_limit, q.fair into v_old from kinfolk.queue q where q.name = p_name;
        if not v_locked
            and (v_old.family_limit is distinct from p_family_limit or v_old.child_limit is distinct from p_child_limit
                or v_old.fair is distinct from p_fair)
        then
            perform pg_advisory_xact_lock(1263160902, v_old.id);
            v_locked := true;
            continue;
        end if;
        if v_locked and v_old.family_limit is not null and p_family_limit is null then
            perform kinfolk.admit_all(v_old.id);
        end if;
        if v_locked and v_old.fair is distinct from p_fair then
            -- They are lined up anew by the next claim.
            perform kinfolk.open_parked(-v_old.id, null);
        end if;
        if v_locked then
            perform kinfolk.sort_lanes(v_old.id, v_old.family_limit is null and p_family_limit is not null,
                v_old.child_limit is null and p_child_limit is not null);
        end if;
        update kinfolk.queue q
        set
            keep_completed_us = p_keep_completed_us,
            keep_failed_us = p_keep_failed_us,
            keep_cancelled_us = p_keep_cancelled_us,
            family_limit = p_family_limit,
            child_limit = p_child_limit,
            depth_limit = v_depth_limit,
            fair = p_fair,
            turn = case when q.fair is not distinct from p_fair then q.turn end
        where q.id = v_old.id
            -- Someone else may have changed the limits meanwhile.
            and (v_locked or (q.family_limit is not distinct from p_family_limit
                and q.child_limit is not distinct from p_child_limit and q.fair is not distinct from p_fair));
        exit when found;
    end loop;
    if v_locked then
        -- Also for those whose claim found the queue locked.
        perform kinfolk.notify_queues(array[v_old.id], false);
    end if;
end
$$;

-- Sorts the tasks of a queue that gets limits: roots that have begun go to the lane `root`, children that run get a slot.
create or replace function kinfolk.sort_lanes(p_queue integer, p_families boolean, p_children boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tasks bigint[] := array(
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.finished_at is null
            and case
                when t.parent_id is null then p_families and (t.runs > 0 or t.state = 'waiting')
                else p_children and t.state = 'running'
            end
        order by t.id);
begin
    if v_tasks = '{}' then
        return;
    end if;
    for v_try in 1..20 loop
        begin
            perform from kinfolk.task t where t.id = any (v_tasks) order by t.id for update nowait;
            update kinfolk.task t
            set
                lane = case when t.parent_id is null then 'root'::kinfolk.lane else t.lane end,
                slot = t.parent_id is not null and t.state = 'running'
            where t.id = any (v_tasks)
                and t.finished_at is null;
            return;
        exception
            -- All of them are let go of here: whoever has one may need another.
            when lock_not_available then
                perform pg_sleep(0.01 * v_try);
        end;
    end loop;
    raise exception using errcode = 'KF007',
        message = format('tasks of queue %s are in other hands time and again', p_queue),
        hint = 'try again in a moment';
end
$$;

-- Lets in all families of a queue that wait for it. Takes these families whole, then their tasks.
create or replace function kinfolk.admit_all(p_queue integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_roots bigint[];
begin
    select array_agg(t.id order by t.id)
    into v_roots
    from kinfolk.task t
    where t.queue_id = p_queue
        and t.state = 'waiting'
        and t.lane = 'top';
    if v_roots is not null then
        perform kinfolk.lock_families(v_roots, true);
        perform kinfolk.admit(p_queue, cardinality(v_roots), kinfolk.clock());
    end if;
    -- Roots that are to begin again have their children behind the gate too.
    perform kinfolk.open_limited(array(
        select distinct t.root_id
        from kinfolk.task t
        join kinfolk.task r on r.id = t.root_id
        where t.gate = 'limit'
            and t.parked_group is null
            and r.queue_id = p_queue), kinfolk.clock());
end
$$;

-- Refuses limits that no store would keep. Null is fine: it means none.
create or replace function kinfolk.require_limits(p_family_limit integer, p_child_limit integer, p_depth_limit integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_family_limit < 1 then
        raise exception using errcode = 'KF001', message = format('a family_limit of %s would run nothing', p_family_limit),
            hint = 'pause the queue instead';
    elsif p_child_limit < 0 then
        raise exception using errcode = 'KF001', message = format('child_limit is %s', p_child_limit),
            hint = 'it must be 0 or more';
    elsif p_depth_limit not between 0 and kinfolk.depth_max() then
        raise exception using errcode = 'KF001', message = format('depth_limit is %s', p_depth_limit),
            hint = format('it must be 0 to %s', kinfolk.depth_max());
    end if;
end
$$;
