-- The ready keys of these commands behind a cursor, which may be null, in the order of `ready_key`, command by command. Reads
-- no more of them than a claim looks at.
create or replace function kinfolk.ready_keys_behind(
    p_queue integer, p_commands integer[], p_command integer, p_group integer, p_key text
) returns kinfolk.claim_ready
language plpgsql stable
as $$
declare
    v_ready kinfolk.claim_ready;
begin
    select array_agg(m.command_id order by m.nth), array_agg(m.group_id order by m.nth), array_agg(m.key order by m.nth),
        count(*) >= kinfolk.claim_batch_max()
    into v_ready.commands, v_ready.groups, v_ready.keys, v_ready.is_full
    from (
        select row_number() over () as nth, c.id as command_id, m.group_id, m.key
        from (select c.id from unnest(p_commands) as c(id) order by c.id) c
        cross join lateral (
            select m.group_id, m.key
            from kinfolk.ready_key m
            where m.queue_id = p_queue
                and m.command_id = c.id
                and (m.group_id, m.key) > (
                    case when c.id = p_command then p_group else 0 end,
                    case when c.id = p_command then p_key else '' end)
            order by m.group_id, m.key
            limit kinfolk.claim_batch_max()
        ) m
        where c.id >= coalesce(p_command, 0)
        limit kinfolk.claim_batch_max()
    ) m;
    return v_ready;
end
$$;
