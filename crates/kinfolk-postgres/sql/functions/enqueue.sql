-- Enqueues one task in the caller's transaction. What is null comes from the command. The answer: `created`, `existing`
-- or `merged` with the task's number, or `rejected` and why. Works under every isolation level; workers are woken by
-- the commit.

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
    out outcome text,
    out id bigint,
    out why text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
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
    select r.outcome, r.id, r.name
    into v_answer
    from kinfolk.enqueue_rows(array[v_id], array[enqueue.command], array[enqueue.payload], array[enqueue.queue],
        array[enqueue.priority], array[enqueue.due], array[kinfolk.micros(enqueue.delay)], array[enqueue.unique_key],
        array[enqueue.unique_scope], array[kinfolk.micros(enqueue.unique_window)], array[enqueue.on_duplicate],
        array[enqueue.max_attempts], array[kinfolk.micros(enqueue.timeout)], array[enqueue.trace]) r;
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
