-- The properties of a task of this kind, command, queue and keys, and the reason why its maker can't make it, if there is
-- one. One row. Where its command declares no attempts, an awaited child has those of its parent. Has no settings of its own,
-- so that the planner inlines it.
create or replace function kinfolk.resolve_one(
    p_maker kinfolk.maker, p_kind text, p_command text, p_queue text, p_keys jsonb
) returns table (command_id integer, queue_id integer, max_attempts integer, timeout_us bigint, why text)
language sql stable
as $$
    select c.id, h.id,
        coalesce(c.max_attempts, case when p_kind is null then p_maker.max_attempts end, kinfolk.attempts_default()), c.timeout_us,
        kinfolk.why_not(p_maker, coalesce(p_kind, 'awaited'), c.id, p_queue is null or q.id is not null,
            case when p_keys is not null then kinfolk.unknown_group(c.id, p_keys) end, h.child_limit)
    from (select) one
    left join kinfolk.command c on c.name = p_command
    left join kinfolk.queue q on q.name = p_queue
    left join kinfolk.queue h on h.id = coalesce(q.id, c.queue_id)
$$;
