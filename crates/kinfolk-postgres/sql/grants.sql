-- The functions that each role may call. No role has a right by default; only functions touch tables.

revoke all on schema kinfolk from public;
revoke all on all tables in schema kinfolk from public, kinfolk_producer, kinfolk_worker, kinfolk_viewer, kinfolk_operator,
    kinfolk_handler;
revoke all on all sequences in schema kinfolk from public;
revoke all on all routines in schema kinfolk from public;

-- A value of a type needs no right in a call; what is built upon the type, and would stop a migration, does.
do $$
declare
    v_type record;
begin
    for v_type in
        select t.oid::regtype as name
        from pg_catalog.pg_type t
        left join pg_catalog.pg_class c on c.oid = t.typrelid
        where t.typnamespace = 'kinfolk'::regnamespace
            and (t.typtype = 'e' or c.relkind = 'c')
    loop
        execute format('revoke all on type %s from public', v_type.name);
    end loop;
end
$$;

grant usage on schema kinfolk to kinfolk_producer, kinfolk_worker, kinfolk_viewer, kinfolk_operator, kinfolk_handler;

grant execute on function kinfolk.schema_version(), kinfolk.clock()
to kinfolk_producer, kinfolk_worker, kinfolk_viewer, kinfolk_operator;

do $$
declare
    v_right record;
begin
    -- By name, whatever the arguments: what a role may do is a list of verbs.
    for v_right in
        select r.role, p.oid::regprocedure as routine
        from (values
            ('kinfolk_producer', array['enqueue', 'enqueue_many', 'try_enqueue', 'try_enqueue_many', 'enqueue_rows', 'take_ids', 'register_command',
                'register_commands', 'commands', 'wake', 'signal']),
            ('kinfolk_worker', array['register_worker', 'heartbeat', 'record_minutes', 'leave', 'claim', 'flush', 'settle', 'settle_made', 'complete', 'require_done',
                'lock_settled', 'recover', 'due_schedules', 'fire', 'sweep', 'prune', 'prune_rates', 'refresh_statuses', 'statuses', 'queues',
                'get_task', 'tally', 'record', 'suspend', 'expire', 'take_signal', 'report', 'history', 'results',
                'lock_suspended', 'signal', 'slow_down']),
            -- Whether something is left, for one that ends when nothing is.
            ('kinfolk_worker', array['count_tasks', 'stats', 'find_tasks', 'get_tasks']),
            ('kinfolk_viewer', array['get_task', 'history', 'results', 'ended_at', 'get_attempts', 'runs', 'list_tasks', 'find_tasks', 'get_tasks',
                'count_matching', 'count_by_command', 'failed_tasks', 'pending_facts', 'children', 'tally', 'progress', 'stats',
                'count_tasks', 'minutes', 'queues', 'commands', 'workers', 'schedules', 'check_invariants', 'doctor', 'payload_with_duplicates', 'holds',
                'is_active', 'statuses', 'explain', 'groups', 'keys', 'change_number', 'errors']),
            -- Those who run handlers in the database.
            ('kinfolk_worker', array['commands', 'find_handler', 'begin_handling', 'handling', 'end_handling', 'finish', 'run_function',
                'call_function', 'call_handler', 'open_envelope', 'named_in', 'begin_send', 'send_key', 'end_send', 'log_error',
                'run_task', 'begin_procedure', 'end_procedure', 'process_tasks', 'process_round', 'process_task', 'skip_ahead', 'due_next',
                'begin_round', 'claimable', 'claim_chosen', 'failure_of', 'slow_down_all', 'put_off_wakes', 'wakes_put_off', 'wake_queues']),
            ('kinfolk_handler', array['enqueue', 'enqueue_many', 'try_enqueue', 'try_enqueue_many', 'current_task', 'current_keys', 'spawn', 'spawn_sibling', 'follow_up', 'fan_out',
                'in_order', 'has_failed_siblings', 'has_pending_children', 'snooze', 'retry_after', 'give_up', 'slow_down_for', 'hasten']),
            ('kinfolk_viewer', array['has_failed_siblings', 'has_pending_children']),
            ('kinfolk_operator', array['set_limits', 'register_command', 'register_commands']),
            -- Who changes a part of something reads the rest of it first.
            ('kinfolk_operator', array['commands', 'queues', 'groups', 'schedules', 'statuses']),
            ('kinfolk_operator', array['run_now', 'bulk', 'find_tasks', 'get_tasks', 'count_matching']),
            ('kinfolk_operator', array['signal', 'cancel', 'retry', 'acquit', 'retry_family', 'set_queue', 'pause', 'resume', 'put_schedule', 'declare_schedules',
                'pause_schedule', 'remove_schedule', 'get_task', 'put_status', 'remove_status', 'put_finder', 'remove_finder', 'set_group', 'remove_group', 'audit', 'audit_log'])
        ) as r(role, verbs)
        join pg_catalog.pg_proc p on p.proname = any (r.verbs)
        where p.pronamespace = 'kinfolk'::regnamespace
    loop
        execute format('grant execute on routine %s to %I', v_right.routine, v_right.role);
    end loop;
end
$$;

-- Not by name: that of the workers takes the group's lock at once, and a handler would hold it for as long as it runs.
grant execute on function kinfolk.slow_down(text, timestamptz) to kinfolk_handler;

grant select on kinfolk.tasks, kinfolk.errors to kinfolk_viewer;
-- To be told how a task is made, changed or removed. A change of rows takes the right to see them, which a producer does not have.
grant insert on kinfolk.tasks to kinfolk_producer;
grant insert, update, delete on kinfolk.tasks to kinfolk_viewer;

-- All but `caller`, which is the role that inserts.
grant insert (names, queues, priorities, max_attempts, base_ms, cap_ms, jitter_pct, timeouts_us, handlers, befores, afters,
    statement_timeouts_us, groups, spans, max_strikes, envelopes, on_successes, on_errors, labels)
on kinfolk.registration to kinfolk_producer, kinfolk_operator;

grant insert (subs, rule, and_then, otherwise, share, timeout, cancel_on_failure) on kinfolk.continuation to kinfolk_handler;
