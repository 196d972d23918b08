-- Makes a queue, or changes its policy: how long it keeps ended families, by final state, in microseconds (null: forever),
-- its limits (null: none), and its fair key (null: none).
--
-- A change of limits takes the queue's advisory lock exclusively, as a pause does: no claim is under way while running tasks
-- are sorted into lanes. Then it locks the families to admit, exclusively; then by number the tasks that take turns, if the
-- fair key changes; then the tasks to sort, never waiting (`sort_lanes`); then the queue. Errors: KF007 when other calls
-- keep tasks locked again and again. Refusals are among the declarations, since psql shows the statement of one that is
-- performed.

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
    v_is_named boolean := kinfolk.require_name('queue', p_name);
    v_none text := kinfolk.require_limits(p_family_limit, p_child_limit, v_depth_limit);
    v_old record;
    v_locked boolean := false;
begin
    perform kinfolk.require_read_committed();
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
            perform kinfolk.admit_all_families(v_old.id);
        end if;
        if v_locked and v_old.fair is distinct from p_fair then
            perform kinfolk.sort_out(v_old.id);
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
            -- Another call may have changed the limits meanwhile.
            and (v_locked or (q.family_limit is not distinct from p_family_limit
                and q.child_limit is not distinct from p_child_limit and q.fair is not distinct from p_fair));
        exit when found;
    end loop;
    if v_locked then
        -- Also for workers whose claim found the queue locked.
        perform kinfolk.notify_queues(array[v_old.id], false);
    end if;
end
$$;
