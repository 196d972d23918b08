-- Makes one task of the duplicates left behind for a task that has given its key up: applied to each other, oldest first,
-- and enqueued under the same key on the same queue, with the command's defaults and the keys of that task. If another task holds the key by now,
-- they go to that task; if that one has started, they wait where they are.

create or replace function kinfolk.promote_orphans(p_task bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_holder record;
    v_payload jsonb;
    v_rule kinfolk.on_duplicate := 'merge';
    v_newer record;
    v_id bigint;
    v_outcome text;
begin
    for v_newer in
        with gone as (
            delete from kinfolk.duplicate d
            where d.task_id = p_task
            returning d.arrival, d.on_duplicate, d.payload
        )
        select * from gone order by arrival
    loop
        if v_payload is null or v_newer.on_duplicate = 'replace' then
            v_payload := v_newer.payload;
        else
            v_payload := kinfolk.merged(v_payload, v_newer.payload);
        end if;
        if v_newer.on_duplicate = 'replace' then
            v_rule := 'replace';
        end if;
    end loop;
    if v_payload is null then
        return;
    end if;

    select t.queue_id, t.command_id, t.unique_key, t.unique_window_us, t.unique_scope, t.keys, c.priority,
        coalesce(c.max_attempts, kinfolk.attempts_default()) as max_attempts, c.timeout_us
    into v_holder
    from kinfolk.task t
    join kinfolk.command c on c.id = t.command_id
    where t.id = p_task;
    v_id := nextval('kinfolk.task_id');
    select k.outcome
    into v_outcome
    from kinfolk.enqueue_unique(row(v_id, v_holder.queue_id, v_holder.command_id, v_holder.priority, v_holder.max_attempts,
        p_now, v_holder.timeout_us, null, v_payload, v_holder.unique_key, v_holder.unique_scope, v_holder.unique_window_us, v_rule,
        kinfolk.inherited_keys(v_holder.command_id, null, v_holder.keys))::kinfolk.new_task, p_now) k;
    if v_outcome = 'existing' then
        insert into kinfolk.duplicate (id, task_id, on_duplicate, payload)
        values (v_id, p_task, v_rule, v_payload);
    end if;
end
$$;
