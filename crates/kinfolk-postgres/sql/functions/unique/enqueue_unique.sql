-- Enqueues one task under a unique key: a new task when no task holds the key, else as `on_duplicate` says.
-- Reads `task_unique`, locks nothing: a newcomer that is applied to the holder only appends a row to `duplicate`.

create or replace function kinfolk.enqueue_unique(p_task kinfolk.new_task, p_now timestamptz, out outcome text, out holder bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_holder record;
begin
    outcome := 'created';
    holder := p_task.id;
    if p_task.on_duplicate <> 'keep' then
        -- From here on this transaction is seen to be at work: see `promote`.
        perform pg_current_xact_id();
    end if;
    -- point: enqueue.looking
    select t.id, t.queue_id, t.state = 'pending' and t.runs = 0 as fresh
    into v_holder
    from kinfolk.task t
    where t.unique_key = p_task.unique_key
        and t.command_id = p_task.command_id
        and kinfolk.holds(t, p_now)
        and t.id <> p_task.id
    order by t.id
    limit 1;
    if not found then
        -- point: enqueue.free
        insert into kinfolk.task
            (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, timeout_us, trace,
            payload, unique_held, unique_key, unique_scope, unique_window_us, on_duplicate, keys)
        values
            (p_task.id, p_task.queue_id, p_task.command_id, 'pending', case when p_task.due > p_now then 'time' else 'open' end::kinfolk.gate,
            p_task.priority, p_task.max_attempts, greatest(p_now, p_task.due), p_task.due, p_now, p_task.timeout_us, p_task.trace,
            case when pg_column_size(p_task.payload) <= 256 then p_task.payload end, true, p_task.unique_key, p_task.unique_scope,
            case when p_task.unique_scope = 'window' then p_task.unique_window_us end, p_task.on_duplicate, p_task.keys)
        on conflict (id) do nothing;
        if pg_column_size(p_task.payload) > 256 then
            insert into kinfolk.body (task_id, payload) values (p_task.id, p_task.payload) on conflict do nothing;
        end if;
        return;
    end if;
    -- Made by this very call before, when its answer was lost.
    if exists (select from kinfolk.task t where t.id = p_task.id) then
        return;
    end if;
    holder := v_holder.id;
    if p_task.on_duplicate = 'keep' or not v_holder.fresh then
        outcome := 'existing';
        return;
    end if;
    -- point: enqueue.held
    perform kinfolk.add_duplicate(p_task.id, v_holder.id, p_task.on_duplicate, p_task.payload);
    if current_setting('transaction_isolation') <> 'read committed' then
        -- An older snapshot may see a key held that was given up long ago: have it looked at.
        insert into kinfolk.released_key (queue_id, task_id) values (v_holder.queue_id, v_holder.id);
    end if;
    -- point: enqueue.appended
    outcome := 'merged';
end
$$;
