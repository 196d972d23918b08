-- Enqueues many tasks at once, in order: an array of objects with the arguments of `enqueue` as keys (`command` and
-- `payload`, and what else is to differ from the command's defaults). One answer each.

create or replace function kinfolk.enqueue_many(tasks jsonb)
returns table (outcome text, id bigint, why text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
    v_ids bigint[];
    v_strange text;
begin
    if jsonb_typeof(tasks) is distinct from 'array' then
        perform kinfolk.refuse('KF001', 'the tasks must be an array of objects');
    end if;
    select key
    into v_strange
    from jsonb_array_elements(tasks) item
    cross join lateral jsonb_object_keys(item) key
    where key not in ('command', 'payload', 'queue', 'priority', 'due', 'delay', 'unique_key', 'unique_scope',
        'unique_window', 'on_duplicate', 'max_attempts', 'timeout', 'trace', 'keys')
    limit 1;
    if found then
        perform kinfolk.refuse('KF001', format('unknown key %L in a task', v_strange), 'the keys are the arguments of kinfolk.enqueue');
    end if;
    perform kinfolk.require_given(g.payload, g.due)
    from jsonb_to_recordset(tasks) as g(payload jsonb, due timestamptz);
    v_ids := kinfolk.take_ids(jsonb_array_length(tasks));

    return query
    with given as materialized (
        select array_agg(coalesce(g.command, '')) as commands, array_agg(coalesce(g.payload, '{}')) as payloads,
            array_agg(g.queue) as queues, array_agg(g.priority) as priorities, array_agg(g.due) as dues,
            array_agg(kinfolk.micros(g.delay)) as delays, array_agg(g.unique_key) as keys,
            array_agg(g.unique_scope) as scopes, array_agg(kinfolk.micros(g.unique_window)) as windows,
            array_agg(g.on_duplicate) as on_duplicates, array_agg(g.max_attempts) as attempts,
            array_agg(kinfolk.micros(g.timeout)) as timeouts, array_agg(g.trace) as traces,
            case when bool_or(g.keys is not null) then array_agg(g.keys) else '{}' end as slot_keys
        from jsonb_to_recordset(tasks) as g(command text, payload jsonb, queue text, priority integer, due timestamptz,
            delay interval, unique_key text, unique_scope text, unique_window interval, on_duplicate text,
            max_attempts integer, timeout interval, trace text, keys jsonb)
    ),
    answers as materialized (
        select r.*
        from given g
        cross join lateral kinfolk.enqueue_rows(v_ids, g.commands, g.payloads, g.queues, g.priorities, g.dues,
            g.delays, g.keys, g.scopes, g.windows, g.on_duplicates, g.attempts, g.timeouts, g.traces,
            p_slot_keys => g.slot_keys) r
        where cardinality(v_ids) > 0
    )
    select
        case when a.nth is null then 'created' when a.id is null then 'rejected' else a.outcome end,
        case when a.nth is null then i.id else a.id end,
        case when a.name is not null then format('%s %s', replace(a.outcome, '_', ' '), a.name) end
    from unnest(v_ids) with ordinality as i(id, nth)
    left join answers a on a.nth = i.nth
    order by i.nth;
end
$$;
