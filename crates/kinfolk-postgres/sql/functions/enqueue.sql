-- Enqueues one task in the caller's transaction. What is null comes from the command. The answer: `created`, `existing`
-- or `merged` with the task's number, or `rejected` and why. Works under every isolation level; workers are woken by
-- the commit. `keys`: its keys in the groups of its command, as an object: '{"tenant": "acme"}'.

create or replace function kinfolk.enqueue(
    command text,
    payload jsonb default '{}',
    queue text default null,
    priority integer default null,
    due timestamptz default null,
    delay interval default null,
    unique_key text default null,
    unique_scope text default 'pending',
    unique_window interval default null,
    on_duplicate text default 'keep',
    max_attempts integer default null,
    timeout interval default null,
    trace text default null,
    keys jsonb default null,
    out outcome text,
    out id bigint,
    out why text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_id bigint := nextval('kinfolk.task_id');
    v_answer record;
begin
    if enqueue.due is not null and enqueue.delay is not null then
        perform kinfolk.refuse('KF001', 'both due and delay are given', 'give one of them');
    end if;
    perform kinfolk.require_given(enqueue.payload, enqueue.due);
    -- From a row trigger, under a key, thousands of times in one statement: the short way.
    if enqueue.unique_key is not null
        and enqueue.unique_scope = 'pending'
        and enqueue.on_duplicate in ('keep', 'replace', 'merge')
        and num_nonnulls(enqueue.queue, enqueue.priority, enqueue.due, enqueue.delay, enqueue.max_attempts, enqueue.timeout,
            enqueue.trace, enqueue.keys) = 0
        and octet_length(enqueue.unique_key) between 1 and kinfolk.unique_key_bytes_max()
        and pg_column_size(enqueue.payload) * 8::bigint <= kinfolk.payload_bytes_max()
    then
        select e.outcome, e.id, e.why
        into outcome, id, why
        from kinfolk.enqueue_short(v_id, enqueue.command, enqueue.payload, enqueue.unique_key, enqueue.on_duplicate) e;
        return;
    end if;
    select r.outcome, r.id, r.name
    into v_answer
    from kinfolk.enqueue_rows(array[v_id], array[enqueue.command], array[enqueue.payload], array[enqueue.queue],
        array[enqueue.priority], array[enqueue.due], array[kinfolk.micros(enqueue.delay)], array[enqueue.unique_key],
        array[enqueue.unique_scope], array[kinfolk.micros(enqueue.unique_window)], array[enqueue.on_duplicate],
        array[enqueue.max_attempts], array[kinfolk.micros(enqueue.timeout)], array[enqueue.trace],
        p_slot_keys => case when enqueue.keys is null then '{}' else array[enqueue.keys] end) r;
    if not found then
        outcome := 'created';
        id := v_id;
    elsif v_answer.id is not null then
        outcome := v_answer.outcome;
        id := v_answer.id;
    else
        outcome := 'rejected';
        why := format('%s %s', replace(v_answer.outcome, '_', ' '), v_answer.name);
    end if;
end
$$;

-- What `enqueue_rows` does for one task with a key and nothing else, without its arrays.
create or replace function kinfolk.enqueue_short(
    p_id bigint, p_command text, p_payload jsonb, p_key text, p_on_duplicate text,
    out outcome text, out id bigint, out why text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_command record;
begin
    select c.id, c.queue_id, c.priority, c.max_attempts, c.timeout_us
    into v_command
    from kinfolk.command c
    where c.name = p_command;
    if not found then
        outcome := 'rejected';
        why := format('unknown command %s', p_command);
        return;
    end if;
    select k.outcome, k.holder
    into outcome, id
    from kinfolk.enqueue_keyed(p_id, v_command.queue_id, v_command.id, v_command.priority, v_command.max_attempts, v_now,
        v_command.timeout_us, null, p_payload, p_key, 'pending', null, p_on_duplicate::kinfolk.on_duplicate, v_now) k;
    perform kinfolk.notify_queues(array[v_command.queue_id], false);
end
$$;
