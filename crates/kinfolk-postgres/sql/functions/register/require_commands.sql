-- Refuses a registration of commands that no store would keep, or that its caller may not ask for. Null is fine: it leaves what
-- is registered.

create or replace function kinfolk.require_commands(p_asked kinfolk.registration) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bad record;
begin
    for v_bad in
        select g.*
        from unnest(p_asked.names, p_asked.queues, p_asked.priorities, p_asked.max_attempts, p_asked.base_ms, p_asked.cap_ms,
                p_asked.jitter_pct, p_asked.timeouts_us, p_asked.handlers, p_asked.befores, p_asked.afters,
                p_asked.statement_timeouts_us, p_asked.max_strikes, p_asked.envelopes, p_asked.on_successes, p_asked.on_errors,
                p_asked.labels)
            as g(name, queue, priority, max_attempts, base_ms, cap_ms, jitter_pct, timeout_us, handler, before, after,
                statement_timeout_us, max_strikes, envelope, on_success, on_error, label)
    loop
        perform kinfolk.require_name('command', v_bad.name);
        if v_bad.queue is not null then
            perform kinfolk.require_name('queue', v_bad.queue);
        end if;
        perform kinfolk.require_policy(v_bad.priority, nullif(v_bad.max_attempts, 0), nullif(v_bad.timeout_us, 0));
        perform kinfolk.require_policy(null, null, nullif(v_bad.statement_timeout_us, 0));
        perform kinfolk.require_label(v_bad.label);
        if v_bad.jitter_pct not between 0 and 100 then
            raise exception using errcode = 'KF001', message = format('jitter_pct is %s', v_bad.jitter_pct),
                hint = 'it must be 0 to 100';
        elsif v_bad.max_strikes not between 1 and kinfolk.strikes_max() then
            raise exception using errcode = 'KF001', message = format('max_strikes is %s', v_bad.max_strikes),
                hint = format('it must be 1 to %s', kinfolk.strikes_max());
        elsif v_bad.base_ms not between 0 and 4294967295
            or v_bad.cap_ms not between 0 and least(4294967295, kinfolk.delay_max_us() / 1000)
        then
            raise exception using errcode = 'KF001',
                message = format('a backoff of %s up to %s ms is out of range', v_bad.base_ms, v_bad.cap_ms),
                hint = 'backoff_base and backoff_cap must be 0 to 49 days';
        elsif num_nonnulls(v_bad.handler, v_bad.before, v_bad.after, v_bad.statement_timeout_us, v_bad.envelope,
            v_bad.on_success, v_bad.on_error) = 0 then
            continue;
        -- It will run with the rights of the worker, which are more than a producer's.
        elsif not pg_has_role(p_asked.caller, 'kinfolk_operator', 'usage') then
            raise exception using errcode = '42501',
                message = format('%I may not say which function handles command %s', p_asked.caller, v_bad.name),
                hint = 'have it registered by a member of kinfolk_operator';
        elsif coalesce(nullif(v_bad.before, ''), nullif(v_bad.after, ''), nullif(v_bad.statement_timeout_us, 0)::text,
                nullif(v_bad.envelope, true)::text, nullif(v_bad.on_success, ''), nullif(v_bad.on_error, '')) is not null
            and coalesce(v_bad.handler, (select c.handler from kinfolk.command c where c.name = v_bad.name), '') = ''
        then
            raise exception using errcode = 'KF001',
                message = format('command %s has hooks, a statement_timeout or no envelope, but no handler', v_bad.name),
                hint = 'name the handler with them';
        elsif v_bad.name = 'db_function' and coalesce(nullif(v_bad.on_success, ''), nullif(v_bad.on_error, '')) is not null then
            raise exception using errcode = 'KF001',
                message = 'command db_function can''t have on_success or on_error: it is what runs them',
                hint = 'give them to the commands whose ends are to be told';
        elsif coalesce(nullif(v_bad.on_success, ''), nullif(v_bad.on_error, '')) is not null
            and not exists (select from kinfolk.command c where c.name = 'db_function' and c.handler = 'db_function')
        then
            raise exception using errcode = 'KF001',
                message = format('command %s has on_success or on_error, but nothing would run it', v_bad.name),
                hint = 'register the command that does first: kinfolk.register_command(''db_function'', handler => ''db_function'')';
        end if;
    end loop;
end
$$;
