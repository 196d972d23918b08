-- `enqueue_rows` for one task with a unique key and nothing else, without arrays.
create or replace function kinfolk.enqueue_short(
    p_id bigint, p_command text, p_payload jsonb, p_key text, p_on_duplicate text,
    out outcome text, out id bigint, out name text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_command record;
begin
    select c.id, c.queue_id, c.priority, coalesce(c.max_attempts, kinfolk.attempts_default()) as max_attempts, c.timeout_us
    into v_command
    from kinfolk.command c
    where c.name = p_command;
    if not found then
        outcome := 'unknown_command';
        name := p_command;
        return;
    end if;
    select k.outcome, k.holder
    into outcome, id
    from kinfolk.enqueue_unique(row(p_id, v_command.queue_id, v_command.id, v_command.priority, v_command.max_attempts, v_now,
        v_command.timeout_us, null, p_payload, p_key, 'pending', null, p_on_duplicate, null)::kinfolk.new_task, v_now) k;
    perform kinfolk.notify_queues(array[v_command.queue_id], false);
end
$$;
