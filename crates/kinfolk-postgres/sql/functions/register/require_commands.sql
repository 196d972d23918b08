-- Refuses a registration of commands that no store would keep, or that its caller may not ask for. Null is fine: it leaves what
-- is registered.

create or replace function kinfolk.require_commands(p_asked kinfolk.registration) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bad record;
    v_is_told boolean;
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
        end if;
        if num_nonnulls(v_bad.handler, v_bad.before, v_bad.after, v_bad.statement_timeout_us, v_bad.envelope, v_bad.on_success,
            v_bad.on_error) > 0
        then
            v_is_told := coalesce(nullif(v_bad.on_success, ''), nullif(v_bad.on_error, '')) is not null;
            perform kinfolk.require_functions(p_asked.caller, v_bad.name, v_bad.handler,
                v_is_told or coalesce(nullif(v_bad.before, ''), nullif(v_bad.after, ''), nullif(v_bad.statement_timeout_us, 0)::text,
                    nullif(v_bad.envelope, true)::text) is not null, v_is_told);
        end if;
    end loop;
end
$$;
