-- Makes a task under a unique key, or lays it into the holder of that key, and says whether it was made.
create or replace function kinfolk.make_keyed(
    p_id bigint, p_queue_id integer, p_command_id integer, p_priority integer, p_max_attempts integer,
    p_due timestamptz, p_timeout_us bigint, p_trace text, p_payload jsonb, p_key text, p_scope kinfolk.unique_scope,
    p_window_us bigint, p_on_duplicate kinfolk.on_duplicate, p_now timestamptz
) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_answer record;
begin
    select k.outcome, k.holder
    into v_answer
    from kinfolk.enqueue_keyed(p_id, p_queue_id, p_command_id, p_priority, p_max_attempts, p_due, p_timeout_us, p_trace,
        p_payload, p_key, p_scope, p_window_us, p_on_duplicate, p_now) k;
    return v_answer.outcome = 'created';
end
$$;
