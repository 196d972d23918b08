-- Writes checkpoints of running attempts, given as one array a property, `p_of` saying for each which attempt it is of (1 is the
-- first). Answers for each attempt `written` or `stale`: each is fenced by task and token, and a stale one does not disturb the
-- rest. What was written before by the very same call is left as it is; under the same key something else is refused, with the
-- whole call.
--
-- Locks the tasks by number, and waits for nothing after that. Reads `checkpoint` by its keys.

create or replace function kinfolk.record(
    p_ids bigint[],
    p_tokens uuid[],
    p_of integer[],
    p_branches text[],
    p_names text[],
    p_occurrences integer[],
    p_kinds text[],
    p_digests text[],
    p_values jsonb[]
) returns table (nth integer, answer text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_held integer[];
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_checkpoints(p_branches, p_names, p_occurrences, p_kinds, p_digests, p_values);
    if not (kinfolk.is_full(p_ids, cardinality(p_ids)) and kinfolk.is_full(p_tokens, cardinality(p_ids))
        and kinfolk.is_full(p_of, cardinality(p_names))
        and coalesce((select bool_and(o between 1 and cardinality(p_ids)) from unnest(p_of) o), true))
    then
        raise exception using errcode = 'KF001', message = 'each checkpoint must say which of the attempts it is of';
    end if;
    -- point: record.begun
    with held as materialized (
        select g.nth
        from (
            select u.*
            from unnest(p_ids, p_tokens) with ordinality as u(id, token, nth)
            order by u.id, u.nth
        ) g
        cross join lateral (
            select
            from kinfolk.task t
            where t.id = g.id
                and t.token = g.token
                and t.worker_id is not null
            for update
        ) t
    )
    select array_agg(h.nth::integer) into v_held from held h;
    -- point: record.locked
    perform kinfolk.write_checkpoints(array_agg(p_ids[g.of] order by g.nth), array_agg(g.branch order by g.nth),
        array_agg(g.name order by g.nth), array_agg(g.occurrence order by g.nth), array_agg(g.kind order by g.nth),
        array_agg(g.digest order by g.nth), array_agg(g.value order by g.nth))
    from unnest(p_of, p_branches, p_names, p_occurrences, p_kinds, p_digests, p_values)
        with ordinality as g(of, branch, name, occurrence, kind, digest, value, nth)
    where g.of = any (v_held)
    having count(*) > 0;
    return query
    select g.nth::integer, case when g.nth = any (v_held) then 'written' else 'stale' end
    from unnest(p_ids) with ordinality as g(id, nth);
end
$$;

-- Writes checkpoints of tasks that the caller has locked, one array a property, each task's in the order given, and counts them
-- as its steps.
create or replace function kinfolk.write_checkpoints(
    p_tasks bigint[], p_branches text[], p_names text[], p_occurrences integer[], p_kinds text[], p_digests text[],
    p_values jsonb[]
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_written record;
begin
    if cardinality(p_names) = 1 then
        perform kinfolk.write_checkpoint(p_tasks[1], p_branches[1], p_names[1], p_occurrences[1], p_kinds[1], p_digests[1],
            p_values[1]);
        return;
    end if;
    with given as materialized (
        select g.*, c.kind as old_kind, c.digest as old_digest, c.value as old_value,
            row_number() over same as copy, first_value(g.kind) over same as first_kind,
            first_value(g.digest) over same as first_digest, first_value(g.value) over same as first_value
        from unnest(p_tasks, p_branches, p_names, p_occurrences, p_kinds, p_digests, p_values)
            with ordinality as g(task_id, branch, name, occurrence, kind, digest, value, nth)
        left join lateral (
            select c.kind, c.digest, c.value
            from kinfolk.checkpoint c
            where c.task_id = g.task_id
                and c.branch = g.branch
                and c.name = g.name
                and c.occurrence = g.occurrence
            offset 0
        ) c on true
        window same as (partition by g.task_id, g.branch, g.name, g.occurrence order by g.nth)
    ),
    fresh as materialized (
        select g.*, row_number() over (partition by g.task_id order by g.nth) as step
        from given g
        where g.old_kind is null
            and g.copy = 1
    ),
    counted as (
        update kinfolk.task t
        set steps = t.steps + n.many
        from (select f.task_id, count(*)::integer as many from fresh f group by f.task_id) n
        where t.id = n.task_id
        returning t.steps
    ),
    written as (
        insert into kinfolk.checkpoint (task_id, seq, branch, name, occurrence, kind, digest, value)
        select f.task_id, t.steps + f.step - 1, f.branch, f.name, f.occurrence, f.kind, f.digest, f.value
        from fresh f
        -- As it was before this statement, each by its number.
        cross join lateral (select t.steps from kinfolk.task t where t.id = f.task_id offset 0) t
    )
    select c.task_id, c.branch, c.name, c.occurrence, (select max(n.steps) from counted n) as steps
    into v_written
    from (select) always
    left join lateral (
        select g.task_id, g.branch, g.name, g.occurrence
        from given g
        where (g.old_kind is not null and (g.old_kind, g.old_digest, g.old_value) <> (g.kind, g.digest, g.value))
            or (g.copy > 1 and (g.first_kind, g.first_digest, g.first_value) <> (g.kind, g.digest, g.value))
        order by g.nth
        limit 1
    ) c on true;
    if v_written.task_id is not null then
        perform kinfolk.refuse_checkpoint(v_written.task_id, v_written.branch, v_written.name, v_written.occurrence);
    end if;
    perform kinfolk.require_steps(v_written.steps);
end
$$;

-- The same for a single checkpoint, as most calls bring it.
create or replace function kinfolk.write_checkpoint(
    p_task bigint, p_branch text, p_name text, p_occurrence integer, p_kind text, p_digest text, p_value jsonb
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_steps integer;
begin
    with counted as (
        update kinfolk.task t
        set steps = t.steps + 1
        where t.id = p_task
            and not exists (
                select
                from kinfolk.checkpoint c
                where c.task_id = p_task
                    and c.branch = p_branch
                    and c.name = p_name
                    and c.occurrence = p_occurrence)
        returning t.steps
    )
    insert into kinfolk.checkpoint (task_id, seq, branch, name, occurrence, kind, digest, value)
    select p_task, c.steps - 1, p_branch, p_name, p_occurrence, p_kind, p_digest, p_value
    from counted c
    returning seq + 1 into v_steps;
    if not found and not exists (
        select
        from kinfolk.checkpoint c
        where c.task_id = p_task
            and c.branch = p_branch
            and c.name = p_name
            and c.occurrence = p_occurrence
            and (c.kind, c.digest, c.value) = (p_kind, p_digest, p_value))
    then
        perform kinfolk.refuse_checkpoint(p_task, p_branch, p_name, p_occurrence);
    end if;
    perform kinfolk.require_steps(v_steps);
end
$$;

-- Refuses a checkpoint under a key under which something else was recorded.
create or replace function kinfolk.refuse_checkpoint(p_task bigint, p_branch text, p_name text, p_occurrence integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = 'KF001',
        message = format('task %s has already recorded step %s', p_task, kinfolk.step_name(p_branch, p_name, p_occurrence));
end
$$;

-- Refuses more checkpoints than one task may have.
create or replace function kinfolk.require_steps(p_steps integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_steps > kinfolk.steps_max() then
        raise exception using errcode = 'KF008', message = 'checkpoints of one task',
            hint = format('a task records at most %s; let children do part of the work', kinfolk.steps_max()),
            detail = p_steps::text;
    end if;
end
$$;

-- What a step is called, in the words of every store.
create or replace function kinfolk.step_name(p_branch text, p_name text, p_occurrence integer) returns text
language sql immutable
as $$
    select case when p_branch <> '' then p_branch || '/' else '' end || p_name
        || case when p_occurrence > 0 then '#' || p_occurrence + 1 else '' end
$$;

-- Refuses a whole call if any of its checkpoints is one that no store would keep.
create or replace function kinfolk.require_checkpoints(
    p_branches text[], p_names text[], p_occurrences integer[], p_kinds text[], p_digests text[], p_values jsonb[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_many integer := cardinality(p_names);
    v_name integer := kinfolk.name_bytes_max();
    v_result bigint := kinfolk.result_bytes_max();
    v_bytes bigint;
begin
    if not (kinfolk.is_full(p_names, v_many) and kinfolk.is_full(p_branches, v_many)
        and kinfolk.is_full(p_occurrences, v_many) and kinfolk.is_full(p_kinds, v_many)
        and kinfolk.is_full(p_digests, v_many) and kinfolk.is_full(p_values, v_many))
    then
        raise exception using errcode = 'KF001',
            message = 'what checkpoints are given as arrays must be as many, and all there';
    end if;
    if exists (
        select
        from unnest(p_branches, p_names, p_occurrences, p_kinds, p_digests) as g(branch, name, occurrence, kind, digest)
        where octet_length(g.branch) > v_name
            or octet_length(g.name) not between 1 and v_name
            or octet_length(g.digest) > v_name
            or g.occurrence < 0
            or g.kind not in ('step', 'make', 'fan_out', 'fold', 'sleep', 'wait', 'signal', 'now', 'random'))
    then
        raise exception using errcode = 'KF001',
            message = 'a checkpoint has a name that is empty or too long, or a kind that is not known',
            hint = format('names have at most %s bytes', v_name);
    end if;
    select kinfolk.json_bytes(v)
    into v_bytes
    from unnest(p_values) v
    where pg_column_size(v) * 8::bigint > v_result
        and kinfolk.json_longer_than(v, v_result)
    limit 1;
    if found then
        raise exception using errcode = 'KF006',
            message = format('the recorded value is %s bytes, more than %s', v_bytes, v_result),
            hint = 'keep the data elsewhere and record a reference', detail = v_bytes::text;
    end if;
end
$$;
