-- Enqueues one task under a unique key: a new task when nobody holds the key, else what `on_duplicate` says.
-- Reads `task_unique`, locks nothing: a newcomer that is laid into the holder only appends a row to `duplicate`.

create or replace function kinfolk.enqueue_keyed(
    p_id bigint, p_queue_id integer, p_command_id integer, p_priority integer, p_max_attempts integer,
    p_due timestamptz, p_timeout_us bigint, p_trace text, p_payload jsonb, p_key text, p_scope kinfolk.unique_scope,
    p_window_us bigint, p_on_duplicate kinfolk.on_duplicate, p_now timestamptz, p_slot_keys jsonb default null,
    out outcome text, out holder bigint
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_holder record;
begin
    if p_on_duplicate <> 'keep' then
        -- From here on this transaction is seen to be at work: see `promote`.
        perform pg_current_xact_id();
    end if;

    -- point: enqueue.looking
    select t.id, t.queue_id, t.state = 'pending' and t.runs = 0 as fresh
    into v_holder
    from kinfolk.task t
    where t.unique_key = p_key
        and t.command_id = p_command_id
        and kinfolk.holds(t, p_now)
        and t.id <> p_id
    order by t.id
    limit 1;

    if not found then
        -- point: enqueue.free
        insert into kinfolk.task
            (id, queue_id, command_id, state, gate, priority, max_attempts, place, due, created_at, timeout_us, trace,
            payload, unique_held, unique_key, unique_scope, unique_window_us, on_duplicate, keys)
        values
            (p_id, p_queue_id, p_command_id, 'pending',
            case when p_due > p_now then 'time'::kinfolk.gate else 'open'::kinfolk.gate end,
            p_priority, p_max_attempts, greatest(p_now, p_due), p_due, p_now, p_timeout_us, p_trace,
            case when pg_column_size(p_payload) <= 256 then p_payload end, true, p_key, p_scope, case when p_scope = 'window' then p_window_us end, p_on_duplicate,
            p_slot_keys)
        on conflict (id) do nothing;
        if pg_column_size(p_payload) > 256 then
            insert into kinfolk.body (task_id, payload) values (p_id, p_payload) on conflict do nothing;
        end if;
        outcome := 'created';
        holder := p_id;
        return;
    end if;

    -- Made by this very call before, when its answer was lost.
    if exists (select from kinfolk.task t where t.id = p_id) then
        outcome := 'created';
        holder := p_id;
        return;
    end if;

    holder := v_holder.id;
    if p_on_duplicate = 'keep' or not v_holder.fresh then
        outcome := 'existing';
        return;
    end if;

    -- point: enqueue.held
    perform kinfolk.add_duplicate(p_id, v_holder.id, p_on_duplicate, p_payload);
    if current_setting('transaction_isolation') <> 'read committed' then
        -- An older snapshot may see a key held that was given up long ago: have it looked at.
        insert into kinfolk.late (queue_id, task_id)
        values (v_holder.queue_id, v_holder.id);
    end if;
    -- point: enqueue.appended
    outcome := 'merged';
end
$$;
