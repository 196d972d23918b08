-- Lays the duplicates of a task, which the caller has locked, into its payload, and takes them off the list.

create or replace function kinfolk.lay_in(p_task bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_newer record;
begin
    -- What is taken off the list is what is laid in: more may be committed while this runs.
    with gone as (
        delete from kinfolk.duplicate d
        where d.task_id = p_task
        returning d.arrival, d.on_duplicate, d.payload
    )
    select array_agg(g.on_duplicate order by g.arrival) as rules, array_agg(g.payload order by g.arrival) as payloads
    into v_newer
    from gone g;
    if v_newer.payloads is not null then
        update kinfolk.task t
        set payload = kinfolk.laid_in(kinfolk.payload_of(p_task), v_newer.rules, v_newer.payloads)
        where t.id = p_task;
    end if;
end
$$;

-- Lays a sibling, made under the same key at the same moment, into the task that stays, by the sibling's own rule.
create or replace function kinfolk.lay_sibling(p_task bigint, p_sibling bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.lay_in(p_sibling);
    update kinfolk.task t
    set payload = case s.on_duplicate
            when 'replace' then kinfolk.payload_of(s.id)
            else kinfolk.merged(kinfolk.payload_of(t.id), kinfolk.payload_of(s.id))
        end
    from kinfolk.task s
    where t.id = p_task
        and s.id = p_sibling
        and s.on_duplicate <> 'keep';
end
$$;

-- Cancels tasks, which the caller has locked, whose payload went into another one, or that came too late for it. What is still
-- on its way to them belongs to the next task. One that waits for room no longer does, and no room is kept for it.
create or replace function kinfolk.fold_away(p_tasks bigint[], p_into bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.late (queue_id, task_id)
    select t.queue_id, t.id
    from kinfolk.task t
    where t.id = any (p_tasks);
    update kinfolk.task t
    set
        state = 'cancelled',
        gate = null,
        finished_at = p_now,
        failure = kinfolk.failure_folded(p_into),
        unique_held = false,
        parked_group = null,
        parked_key = null,
        bounces = 0
    where t.id = any (p_tasks);
    perform kinfolk.drop_reservations(p_tasks);
end
$$;
