-- The ready keys that a claim of this worker looks at, at most as many as it can use, once events at keys are turned into ready keys.
-- It starts behind the key where the worker's last claim ended, if that claim could have used more. So ready keys without use for now
-- (a full lane, other full keys) do not hide the rest.
--
-- The caller has the admission locks. Reads `ready_key` in its order. Runs under the settings of the claim.
create or replace function kinfolk.next_ready_keys(
    p_worker uuid, p_scope kinfolk.claim_scope, p_commands integer[], p_now timestamptz
) returns kinfolk.claim_ready
language plpgsql volatile
as $$
declare
    v_ready kinfolk.claim_ready;
    v_behind record;
begin
    if kinfolk.awaited_groups(p_scope.groups) <> '{}' then
        perform kinfolk.add_ready_keys(p_scope.queue_id, p_scope.groups, p_now);
    end if;
    -- point: claim.ready_keys
    select wq.cursor_command, wq.cursor_group, wq.cursor_key
    into v_behind
    from kinfolk.worker_queue wq
    where wq.queue_id = p_scope.queue_id
        and wq.worker_id = p_worker;
    v_ready := kinfolk.ready_keys_behind(p_scope.queue_id, p_commands, v_behind.cursor_command, v_behind.cursor_group, v_behind.cursor_key);
    if v_behind.cursor_command is not null and v_ready.keys is null then
        v_ready := kinfolk.ready_keys_behind(p_scope.queue_id, p_commands, null, null, null);
    end if;
    v_ready.is_later := v_behind.cursor_command is not null;
    v_ready.has_reserved := exists (select from kinfolk.reserved r where r.group_id = any (p_scope.groups));
    return v_ready;
end
$$;
