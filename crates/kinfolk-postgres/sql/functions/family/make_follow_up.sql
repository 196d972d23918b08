-- Makes a follow-up that waits for one family. Under a unique key that a pending root holds, that one waits for the
-- family too, and nothing is made; if the holder has started, nothing happens at all.
-- `p_ended`: how the family has ended, if it ends in this very transaction; null while it goes on.
--
-- The caller holds the lock of the key (`lock_follow_up_keys`), so that two families at once find one holder. Reads
-- `task_unique`; locks the holder, and waits for it: a claim that has it ends soon, and waits for nobody.

create or replace function kinfolk.make_follow_up(
    p_id bigint, p_maker bigint, p_root bigint, p_ended kinfolk.state, p_needs_completed boolean, p_command_id integer,
    p_queue_id integer, p_priority integer, p_place timestamptz, p_due timestamptz, p_max_attempts integer,
    p_timeout_us bigint, p_trace text, p_payload jsonb, p_key text, p_scope kinfolk.unique_scope, p_window_us bigint,
    p_on_duplicate kinfolk.on_duplicate, p_now timestamptz
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_holder record;
begin
    while p_key is not null loop
        select t.id, t.queue_id, t.state = 'pending' and t.runs = 0 as fresh
        into v_holder
        from kinfolk.task t
        where t.unique_key = p_key
            and t.command_id = p_command_id
            and t.parent_id is null
            and kinfolk.holds(t, p_now)
        order by t.id
        limit 1;
        exit when not found;
        if not v_holder.fresh then
            return;
        end if;
        perform
        from kinfolk.task t
        where t.id = v_holder.id
            and t.state = 'pending'
            and t.runs = 0
        for update;
        if found then
            perform kinfolk.join_follow_up(v_holder.id, v_holder.queue_id, p_root, p_ended, p_needs_completed, p_id,
                p_on_duplicate, p_payload);
            return;
        end if;
        -- It has started or ended meanwhile: look again.
    end loop;

    insert into kinfolk.task
        (id, queue_id, command_id, state, gate, priority, max_attempts, place, due, created_at, timeout_us, trace,
        payload, unique_held, unique_key, unique_scope, unique_window_us, on_duplicate, maker_id,
        follows_id)
    values
        (p_id, p_queue_id, p_command_id, 'pending', 'after', p_priority, p_max_attempts, p_place, p_due, p_now,
        p_timeout_us, p_trace, case when pg_column_size(p_payload) <= 256 then p_payload end, p_key is not null, p_key,
        case when p_key is not null then p_scope end,
        case when p_key is not null and p_scope = 'window' then p_window_us end,
        case when p_key is not null then p_on_duplicate end, p_maker, p_root);
    if pg_column_size(p_payload) > 256 then
        insert into kinfolk.body (task_id, payload) values (p_id, p_payload);
    end if;
    insert into kinfolk.follow_up (task_id, root_id, needs_completed, queue_id, ended)
    values (p_id, p_root, p_needs_completed, p_queue_id, p_ended);
    if p_ended is not null then
        perform kinfolk.notify_queues(array[p_queue_id], false);
    end if;
end
$$;
