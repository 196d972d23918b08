-- Switches a schedule off, or on again and armed for `p_next_at`. Answers whether there is such a schedule. Locks the
-- schedule.
create or replace function kinfolk.pause_schedule(p_name text, p_paused boolean, p_next_at timestamptz) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    if num_nulls(p_name, p_paused) > 0 then
        raise exception using errcode = 'KF001', message = 'p_name or p_paused is null',
            hint = 'give the name of a schedule, and whether it is paused';
    end if;
    update kinfolk.schedule s
    set
        paused = p_paused,
        next_at = case when p_paused or p_next_at <= s.last_at then s.next_at else p_next_at end
    where s.name = p_name;
    return found;
end
$$;
