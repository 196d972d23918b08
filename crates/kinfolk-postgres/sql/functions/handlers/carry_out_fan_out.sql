-- The effect of an insert into `kinfolk.continuation`, with the owner's rights: notes a fan-out that the caller's handler means to
-- begin. `finish` begins it. A fan-out that can't be begun is refused here, where the handler can see it. `new.caller` is the role
-- that inserts.
--
-- Locks nothing: it reads the running task and names, and appends a row.

create or replace function kinfolk.carry_out_fan_out() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task kinfolk.task := kinfolk.handled();
begin
    if not exists (
        select
        from kinfolk.command c
        where c.id = v_task.command_id
            and (c.handler_kind = 'function' or c.handler = 'db_function'))
    then
        raise exception using errcode = 'KF011', message = format('the handler of task %s is no function', v_task.id),
            hint = 'fan out from a function: a procedure or a provider is not called again', detail = 'no_function';
    elsif new.and_then is null then
        raise exception using errcode = 'KF001', message = 'and_then is missing',
            hint = 'name the function that gets the results, as in and_then => ''app.sum''';
    end if;
    perform kinfolk.require_terms(new.rule, new.share, new.timeout);
    perform kinfolk.require_subs(v_task, new.subs);
    insert into kinfolk.intent (task_id, token, kind, payload)
    values (v_task.id, v_task.token, 'fan_out', jsonb_build_object(
        'subs', new.subs,
        'rule', new.rule,
        'parts', round(new.share * 1000000),
        'timeout_us', kinfolk.micros(new.timeout),
        'cancels', coalesce(new.cancel_on_failure, false),
        'and_then', kinfolk.find_continuation(new.caller, new.and_then),
        'otherwise', kinfolk.find_continuation(new.caller, new.otherwise)));
    return new;
end
$$;

create or replace trigger carry_out
instead of insert on kinfolk.continuation
for each row execute function kinfolk.carry_out_fan_out();
