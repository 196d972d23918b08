-- Starts no task under the key of a running task in a group of its command, until the given moment. If an earlier request
-- named a later moment, that one counts. Returns `done`; `stale` when the token no longer holds; `unknown` when the task has
-- no key in such a group; `far` when the moment is too far ahead, and how far, in milliseconds. Takes the group's admission
-- lock before any row.
create or replace function kinfolk.slow_down(
    p_task bigint, p_token uuid, p_group text, p_until timestamptz, out answer text, out ahead_ms bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_key record;
begin
    if num_nulls(p_task, p_token, p_group, p_until) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task, p_token, p_group or p_until is null',
            hint = 'give the number of the task, the token of its claim, the group and the moment';
    end if;
    perform kinfolk.require_read_committed();
    if p_until > v_now + kinfolk.span(kinfolk.delay_max_us()) then
        answer := 'far';
        ahead_ms := (extract(epoch from least(p_until, '9999-01-01') - v_now) * 1000)::bigint;
        return;
    end if;
    select cg.group_id, coalesce(t.keys ->> p_group, '') as key
    into v_key
    from kinfolk.task t
    join kinfolk.command_group cg on cg.command_id = t.command_id and cg.name = p_group
    where t.id = p_task
        and (cg.name = 'total' or t.keys ? p_group);
    perform kinfolk.lock_groups(array[v_key.group_id]);
    if not exists (
        select
        from kinfolk.task t
        where t.id = p_task
            and t.token = p_token
            and t.worker_id is not null)
    then
        answer := 'stale';
    elsif not exists (select from kinfolk.slot_group g where g.id = v_key.group_id) then
        answer := 'unknown';
    else
        answer := 'done';
        insert into kinfolk.spent as s (group_id, key, paused_until)
        select v_key.group_id, v_key.key, p_until
        where p_until > kinfolk.clock()
        on conflict (group_id, key) do update set paused_until = greatest(s.paused_until, excluded.paused_until);
    end if;
end
$$;

-- The same from a handler in SQL, under the key that its own task has. It is noted down, and written when the handler ends, by
-- its return or by `end_handler`: the group's lock is none to be held while someone else's code runs. With any other
-- error it is undone like all that the handler did. Locks nothing.
create or replace function kinfolk.slow_down(group_name text, until timestamptz) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task kinfolk.task := kinfolk.handled();
begin
    if group_name is null or until is null then
        raise exception using errcode = 'KF001', message = 'to slow down takes a group and a moment',
            hint = 'give both';
    elsif until > kinfolk.clock() + kinfolk.span(kinfolk.delay_max_us()) then
        raise exception using errcode = 'KF001', message = format('slow down until %s: that is too far ahead', until),
            hint = 'it must be within ten years';
    elsif not exists (
        select
        from kinfolk.command_group cg
        where cg.command_id = v_task.command_id
            and cg.name = group_name
            and (cg.name = 'total' or v_task.keys ? cg.name))
    then
        raise exception using errcode = 'KF002',
            message = format('task %s has no key in a group %s of its command', v_task.id, group_name),
            hint = 'name one of the groups in kinfolk.current_keys(), or total where that is declared';
    end if;
    -- A moment that has passed changes nothing.
    insert into kinfolk.intent (task_id, token, kind, slot_keys, due)
    select v_task.id, v_task.token, 'slow_down', jsonb_build_object(group_name, v_task.keys -> group_name), until
    where until > kinfolk.clock();
end
$$;
