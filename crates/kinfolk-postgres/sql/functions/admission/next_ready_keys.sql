-- The ready keys that a claim of this worker looks at, at most as many as it can use. It starts behind the key where the
-- worker's last claim ended, if that claim could have used more. So ready keys without use for now (a full lane, other full
-- keys) do not hide the rest. `is_full`: there may be more behind them. `is_later`: the last claim ended at one.
create or replace function kinfolk.next_ready_keys(
    p_worker uuid, p_queue integer, p_commands integer[],
    out commands integer[], out groups integer[], out keys text[], out is_full boolean, out is_later boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_behind record;
begin
    select wq.cursor_command, wq.cursor_group, wq.cursor_key
    into v_behind
    from kinfolk.worker_queue wq
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker;
    is_later := v_behind.cursor_command is not null;
    select m.commands, m.groups, m.keys, m.is_full
    into commands, groups, keys, is_full
    from kinfolk.ready_keys_behind(p_queue, p_commands, v_behind.cursor_command, v_behind.cursor_group, v_behind.cursor_key) m;
    if is_later and keys is null then
        select m.commands, m.groups, m.keys, m.is_full
        into commands, groups, keys, is_full
        from kinfolk.ready_keys_behind(p_queue, p_commands, null, null, null) m;
    end if;
end
$$;
