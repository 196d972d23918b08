-- Writes checkpoints of tasks that the caller has locked, each task's in the order given, and adds them to its `steps`. `p_tasks`:
-- the task of each.
create or replace function kinfolk.write_checkpoints(p_tasks bigint[], p_steps kinfolk.checkpoints) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_written record;
begin
    if cardinality(p_tasks) = 1 then
        perform kinfolk.write_checkpoint(p_tasks[1], p_steps.branches[1], p_steps.names[1], p_steps.occurrences[1], p_steps.kinds[1],
            p_steps.digests[1], p_steps.values[1]);
        return;
    end if;
    -- `kept_*`: what was there before, or else is given first under the same key.
    with given as materialized (
        select g.*, c.kind is null and row_number() over same = 1 as is_new, coalesce(c.kind, first_value(g.kind) over same) as kept_kind,
            coalesce(c.digest, first_value(g.digest) over same) as kept_digest,
            coalesce(c.value, first_value(g.value) over same) as kept_value
        from unnest(p_tasks, p_steps.branches, p_steps.names, p_steps.occurrences, p_steps.kinds, p_steps.digests, p_steps.values)
            with ordinality as g(task_id, branch, name, occurrence, kind, digest, value, nth)
        left join lateral (
            select c.kind, c.digest, c.value
            from kinfolk.checkpoint c
            where (c.task_id, c.branch, c.name, c.occurrence) = (g.task_id, g.branch, g.name, g.occurrence)
            offset 0
        ) c on true
        window same as (partition by g.task_id, g.branch, g.name, g.occurrence order by g.nth)
    ),
    fresh as materialized (
        select g.*, row_number() over (partition by g.task_id order by g.nth) as step from given g where g.is_new
    ),
    counted as (
        update kinfolk.task t
        set steps = t.steps + n.many
        from (select f.task_id, count(*)::integer as many from fresh f group by f.task_id) n
        where t.id = n.task_id
        returning t.steps
    ),
    written as (
        insert into kinfolk.checkpoint (task_id, seq, branch, name, occurrence, kind, digest, value, recorded_at)
        select f.task_id, t.steps + f.step - 1, f.branch, f.name, f.occurrence, f.kind, f.digest, f.value, kinfolk.clock()
        from fresh f
        -- As it was before this statement, each by its number.
        cross join lateral (select t.steps from kinfolk.task t where t.id = f.task_id offset 0) t
    )
    select c.task_id, c.branch, c.name, c.occurrence, (select max(n.steps) from counted n) as steps
    into v_written
    from (select) always
    left join lateral (
        select g.*
        from given g
        where (g.kept_kind, g.kept_digest, g.kept_value) <> (g.kind, g.digest, g.value)
        order by g.nth
        limit 1
    ) c on true;
    if v_written.task_id is not null then
        perform kinfolk.refuse_checkpoint(v_written.task_id, v_written.branch, v_written.name, v_written.occurrence);
    end if;
    perform kinfolk.require_steps(v_written.steps);
end
$$;
