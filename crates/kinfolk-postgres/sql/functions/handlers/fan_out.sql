-- Has sub-tasks run for a handler in SQL, and goes on with their results. The sub-tasks are made when the handler has ended well; its
-- task then waits without a worker. When the rule is met, `and_then` is called with the results, and its answer is that of the task.
-- When the rule can't be met any more, or the time is up, `otherwise` is called; without it the task fails.
--
-- `subs`: an array of objects with the arguments of `spawn` as keys, except those of unique keys. `rule`: fail_fast, collect_all,
-- or threshold with the `share` that must complete, from 0 to 1. `timeout`: of the whole fan-out.
--
-- Runs as its caller, since what that role may execute decides: see `kinfolk.continuation`. Locks nothing.

create or replace function kinfolk.fan_out(
    subs jsonb,
    rule text default 'fail_fast',
    and_then text default null,
    otherwise text default null,
    share numeric default null,
    timeout interval default null,
    cancel_on_failure boolean default false
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_hint text;
    v_detail text;
begin
    insert into kinfolk.continuation (subs, rule, and_then, otherwise, share, timeout, cancel_on_failure)
    values (fan_out.subs, fan_out.rule, fan_out.and_then, fan_out.otherwise, fan_out.share, fan_out.timeout,
        fan_out.cancel_on_failure);
exception
    when others then
        -- As it is, without the lines of all the functions that it went through.
        get stacked diagnostics v_hint = pg_exception_hint, v_detail = pg_exception_detail;
        if sqlstate !~ '^KF' and sqlstate <> '42501' then
            raise;
        end if;
        v_hint := coalesce(nullif(v_hint, ''), 'see "Results of sub-tasks" in docs/sql-handlers.md');
        if v_detail = '' then
            raise exception using errcode = sqlstate, message = sqlerrm, hint = v_hint;
        end if;
        raise exception using errcode = sqlstate, message = sqlerrm, hint = v_hint, detail = v_detail;
end
$$;
