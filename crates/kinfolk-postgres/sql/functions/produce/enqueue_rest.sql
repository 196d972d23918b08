-- The part of `enqueue_rows` for tasks that have a unique key, and for those that can't be made: one after another, in order.
-- Answers as it does.
-- `p_unknown`: those that name a group which their command does not have. Locks nothing that exists: a holder of a key is looked
-- for by `task_unique`.

create or replace function kinfolk.enqueue_rest(
    p_tasks kinfolk.given_tasks, p_unknown integer[], p_strict boolean, p_now timestamptz
) returns table (nth integer, outcome text, id bigint, name text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_one record;
begin
    for v_one in
        select g.nth, w.why,
            row(g.id, coalesce(q.id, c.queue_id), c.id, coalesce(g.priority, c.priority),
                coalesce(g.max_attempts, c.max_attempts, kinfolk.attempts_default()),
                coalesce(g.due, p_now + coalesce(g.delay_us, 0) * interval '1 microsecond'), coalesce(g.timeout_us, c.timeout_us),
                g.trace, g.payload, g.key, coalesce(g.scope, 'pending'), g.window_us, coalesce(g.on_duplicate, 'keep'),
                nullif(g.keys, '{}'))::kinfolk.new_task as task,
            case w.why
                when 'unknown_command' then g.command
                when 'unknown_queue' then g.queue
                when 'unknown_group' then kinfolk.unknown_group(c.id, g.keys)
            end as unknown
        from unnest(p_tasks.ids, p_tasks.commands, p_tasks.payloads, p_tasks.queues, p_tasks.priorities, p_tasks.dues,
                p_tasks.delays_us, p_tasks.keys, p_tasks.scopes, p_tasks.windows_us, p_tasks.on_duplicates, p_tasks.max_attempts,
                p_tasks.timeouts_us, p_tasks.traces, p_tasks.slot_keys)
            with ordinality as g(id, command, payload, queue, priority, due, delay_us, key, scope, window_us, on_duplicate,
                max_attempts, timeout_us, trace, keys, nth)
        left join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue
        cross join lateral (
            select case
                when c.id is null then 'unknown_command'
                when g.queue is not null and q.id is null then 'unknown_queue'
                when g.nth = any (p_unknown) then 'unknown_group'
            end as why
        ) w
        where g.key is not null or w.why is not null
        order by g.nth
    loop
        nth := v_one.nth;
        name := v_one.unknown;
        if v_one.why is not null and p_strict then
            perform kinfolk.reject(v_one.why, v_one.unknown);
        elsif v_one.why is not null then
            outcome := v_one.why;
            id := null;
        else
            select k.outcome, k.holder into outcome, id from kinfolk.enqueue_unique(v_one.task, p_now) k;
        end if;
        if outcome <> 'created' then
            return next;
        end if;
    end loop;
end
$$;
