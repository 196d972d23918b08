-- Sets the limits of a group, or of one key, from now on. Where all values are null, the declaration counts again. Lifts a
-- slow-down. Makes the keys ready that may have room and have waiters. Interrupts no running task. Answers whether there is
-- such a group.
--
-- Takes the group's admission lock before any row, so no claim is under way in it.

create or replace function kinfolk.set_group(
    p_command text, p_name text, p_key text, p_slots integer, p_rate_count integer, p_rate_per_us bigint,
    p_rate_burst integer
) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_group integer := kinfolk.group_of(p_command, p_name);
    v_now timestamptz;
begin
    if p_name is null then
        raise exception using errcode = 'KF001', message = 'p_name is null', hint = 'give the name of a group';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.require_setting(p_slots, p_rate_count, p_rate_per_us, p_rate_burst);
    if p_key is not null then
        if p_name = 'total' then
            raise exception using errcode = 'KF001', message = 'the group total has no keys',
                hint = 'set it as a whole';
        end if;
        perform kinfolk.require_keys(array[jsonb_build_object(p_name, p_key)]);
    end if;
    perform kinfolk.lock_groups(array[v_group]);
    v_now := kinfolk.clock();
    -- point: set_group.locked
    if not exists (select from kinfolk.slot_group g where g.id = v_group) then
        return false;
    end if;
    perform kinfolk.keep_setting(v_group, p_key, p_slots, p_rate_count, p_rate_per_us, p_rate_burst);
    perform kinfolk.rein_in(v_group, v_now, p_key);
    -- The operator's word goes before that of a handler that asked to slow down. Until now: `prune` removes what has passed.
    update kinfolk.spent s
    set
        paused_until = v_now,
        wakes_at = null
    where s.group_id = v_group
        and (p_key is null or s.key = p_key)
        and s.paused_until > v_now;
    if p_key is null then
        perform kinfolk.add_ready_group(v_group);
    else
        perform kinfolk.add_awaited_keys(v_group, array[p_key]);
    end if;
    return true;
end
$$;
