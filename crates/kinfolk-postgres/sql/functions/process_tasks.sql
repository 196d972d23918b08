-- Runs tasks of a queue inside the caller's own transaction, so that a pipeline can be tried out in psql and rolled back:
--
--     begin; select kinfolk.enqueue(…); call kinfolk.process_tasks(queue => 'analytics'); …; rollback;
--
-- One call runs what could be claimed when it began, one after another, each handler in a subtransaction; what they made,
-- or what opened meanwhile, is left to the next call, and so is every family that stands behind such a one in line. With
-- `until_idle`, it goes on until nothing is left to claim, in the order of a worker that runs one task at a time. Tasks that are
-- due later stay where they are.
--
-- It never commits, and never waits for a lock: what someone else is at is reported as busy (KF007). It claims under a
-- worker's row that lives and goes in this transaction. Handlers run as the caller. A procedure that commits fails here,
-- and no statement_timeout is set. Until the transaction ends it holds what it claimed, and the queue's admission.

create or replace procedure kinfolk.process_tasks(queue text default 'default', until_idle boolean default false)
language plpgsql
as $$
declare
    v_worker uuid := pg_catalog.gen_random_uuid();
    v_patience text := pg_catalog.current_setting('lock_timeout');
    v_ran bigint;
begin
    loop
        perform pg_catalog.set_config('lock_timeout', '10ms', true);
        v_ran := kinfolk.process_round(v_worker, queue, v_patience, until_idle);
        exit when v_ran operator(pg_catalog.=) 0 or not until_idle;
    end loop;
    perform kinfolk.leave(v_worker);
    perform pg_catalog.set_config('lock_timeout', v_patience, true);
exception
    when lock_not_available then
        raise exception using
            errcode = 'KF007',
            message = pg_catalog.format('queue %s is busy: someone else is at it', queue),
            hint = 'try again in a moment, or on a database where no worker runs';
end
$$;

-- One round: what can be claimed now, and, unless it is to go on until the queue is idle, none of what comes of it. Answers how
-- many tasks it ran.
create or replace function kinfolk.process_round(p_worker uuid, p_queue text, p_patience text, p_until_idle boolean)
returns bigint
language plpgsql volatile
as $$
declare
    v_commands text[];
    v_token uuid;
    v_chosen bigint[];
    v_ran bigint[] := '{}';
    v_task bigint;
begin
    v_commands := kinfolk.begin_round(p_worker, p_queue);
    loop
        if not p_until_idle then
            -- A claim of nothing opens what is due and what follows up, and takes nothing.
            perform kinfolk.claim(p_worker, pg_catalog.gen_random_uuid(), p_queue, v_commands, 0);
            v_chosen := coalesce(v_chosen, kinfolk.claimable(p_queue, v_commands));
        end if;
        v_token := pg_catalog.gen_random_uuid();
        v_task := kinfolk.claim_chosen(p_worker, v_token, p_queue, v_commands, v_chosen, v_ran);
        exit when v_task is null;
        v_ran := v_ran operator(pg_catalog.||) v_task;
        perform kinfolk.process_task(v_task, v_token, p_patience);
    end loop;
    return pg_catalog.cardinality(v_ran);
end
$$;

-- One task, in a subtransaction: what a handler that fails has done is undone, and its failure is recorded.
create or replace function kinfolk.process_task(p_task bigint, p_token uuid, p_patience text) returns void
language plpgsql volatile
as $$
declare
    v_handled record;
    v_result jsonb;
    v_end record;
    v_is_engine boolean := true;
    v_code text;
    v_message text;
    v_detail text;
    v_hint text;
    v_context text;
    v_schema text;
    v_table text;
    v_column text;
    v_constraint text;
begin
    begin
        select e.* into v_handled from kinfolk.enter(p_task, p_token) e;
        v_is_engine := false;
        perform pg_catalog.set_config('lock_timeout', p_patience, true);
        v_result := kinfolk.call_handler(v_handled.handler, v_handled.before, v_handled.after, v_handled.payload,
            v_handled.envelope);
        set constraints all immediate;
        v_is_engine := true;
        perform pg_catalog.set_config('lock_timeout', '10ms', true);
        perform kinfolk.finish(p_task, p_token, v_result, v_handled.on_success);
    exception
        when others then
            get stacked diagnostics
                v_code = returned_sqlstate,
                v_message = message_text,
                v_detail = pg_exception_detail,
                v_hint = pg_exception_hint,
                v_context = pg_exception_context,
                v_schema = schema_name,
                v_table = table_name,
                v_column = column_name,
                v_constraint = constraint_name;
            if v_is_engine and v_code operator(pg_catalog.=) '55P03' then
                raise;
            end if;
            select f.*
            into v_end
            from kinfolk.failure_of(v_code, v_message, v_detail, v_hint, v_context, v_schema, v_table, v_column,
                v_constraint) f;
            if v_end.slow_down is not null then
                perform kinfolk.slow_down_all(p_task, p_token, v_end.slow_down);
            end if;
            perform kinfolk.settle(array[p_task], array[p_token], array[v_end.outcome], array[null::pg_catalog.jsonb],
                array[v_end.failure], array[v_end.delay_us]);
    end;
    perform pg_catalog.set_config('kinfolk.task', '', true);
    perform pg_catalog.set_config('kinfolk.token', '', true);
end
$$;

-- Registers the worker of a round, which sees to commands that have a handler in the database, and answers those.
create or replace function kinfolk.begin_round(p_worker uuid, p_queue text) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_commands text[] := array(select c.name from kinfolk.command c where coalesce(c.handler_kind <> 'built_in' or c.handler = 'db_function', false) order by c.name);
    v_queue record;
begin
    if p_worker is null then
        raise exception using errcode = 'KF001', message = 'p_worker is null',
            hint = 'give an id of its own';
    end if;
    select q.id, q.family_limit is not null or q.child_limit is not null as is_limited
    into v_queue
    from kinfolk.queue q
    where q.name = p_queue;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no queue %s', p_queue);
    elsif v_queue.is_limited and not pg_try_advisory_xact_lock(1263160904, v_queue.id) then
        -- A claim would wait a moment for it, and then take nothing.
        raise lock_not_available;
    end if;
    perform kinfolk.register_worker(p_worker, 'process_tasks', array[p_queue], v_commands, kinfolk.lease_max_us());
    return v_commands;
end
$$;

-- The open tasks of a queue.
create or replace function kinfolk.claimable(p_queue text, p_commands text[]) returns bigint[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select t.id
        from kinfolk.task t
        where t.queue_id = (select q.id from kinfolk.queue q where q.name = p_queue)
            and t.state = 'pending'
            and t.gate = 'open'
            and t.command_id in (select c.id from kinfolk.command c where c.name = any (p_commands)))
$$;
