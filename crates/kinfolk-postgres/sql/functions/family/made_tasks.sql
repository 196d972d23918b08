-- The made tasks from `p_from` to `p_to`, in order, each as one row. `nth`: 1 for the first of them. `starts_when`: the
-- condition of a follow-up.

create or replace function kinfolk.made_tasks(p_maker kinfolk.maker, p_made kinfolk.made, p_from integer, p_to integer)
returns table (nth integer, starts_when text, task kinfolk.new_task)
language plpgsql stable
as $$
begin
    return query
    select g.nth::integer, coalesce(g.starts_when, 'settled'),
        row(g.id, g.queue_id, g.command_id, coalesce(g.priority, p_maker.priority), g.max_attempts,
            coalesce(g.due, p_maker.now + coalesce(g.delay_us, 0) * interval '1 microsecond'), g.timeout_us, g.trace, g.payload, g.key,
            coalesce(g.scope, 'pending'), g.window_us, coalesce(g.on_duplicate, 'keep'), g.keys)::kinfolk.new_task
    from unnest(p_made.ids[p_from:p_to], p_made.queue_ids[p_from:p_to], p_made.command_ids[p_from:p_to],
            p_made.priorities[p_from:p_to], p_made.attempts[p_from:p_to], p_made.dues[p_from:p_to], p_made.delays_us[p_from:p_to],
            p_made.timeouts[p_from:p_to], p_made.traces[p_from:p_to], p_made.payloads[p_from:p_to], p_made.keys[p_from:p_to],
            p_made.scopes[p_from:p_to], p_made.windows_us[p_from:p_to], p_made.on_duplicates[p_from:p_to],
            p_made.all_keys[p_from:p_to], p_made.whens[p_from:p_to])
        with ordinality as g(id, queue_id, command_id, priority, max_attempts, due, delay_us, timeout_us, trace, payload, key, scope,
            window_us, on_duplicate, keys, starts_when, nth)
    order by g.nth;
end
$$;
