-- Payments: authorised at once, captured when the goods have left, voided when that takes too long. A business process of facts and a
-- supervisor, in the seven steps of docs/supervisors.md. Run it with psql, as a role that may create roles and register handlers.

begin;
do $$
begin
    if not exists (select from pg_catalog.pg_roles r where r.rolname = 'payments_owner') then
        create role payments_owner nologin;
    end if;
    execute format('grant payments_owner to %I', current_user);
    grant kinfolk_handler to payments_owner;
end
$$;
create schema payments authorization payments_owner;
set local role payments_owner;

-- 1. The root, and its facts. A step is `authorise`, `capture` or `void`; each succeeds at most once.
create table payments.payment (
    payment_id bigint generated always as identity primary key,
    card text not null,
    cents bigint not null check (cents > 0),
    capture_until timestamptz not null,
    max_attempts integer not null default 3
);
create table payments.shipped (
    payment_id bigint primary key references payments.payment,
    at timestamptz not null default now()
);
create table payments.step_scheduled (
    payment_id bigint not null references payments.payment,
    step text not null check (step in ('authorise', 'capture', 'void')),
    attempt integer not null,
    at timestamptz not null default now(),
    primary key (payment_id, step, attempt)
);
create table payments.step_failed (
    payment_id bigint not null references payments.payment,
    step text not null,
    attempt integer not null,
    error text not null,
    at timestamptz not null default now(),
    primary key (payment_id, step, attempt)
);
create table payments.step_succeeded (
    payment_id bigint not null references payments.payment,
    step text not null,
    at timestamptz not null default now(),
    primary key (payment_id, step)
);
create function payments.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = '42501', message = format('%s is a fact: it is only ever added to', tg_table_name);
end
$$;
do $$
declare
    v_table text;
begin
    foreach v_table in array array['payment', 'shipped', 'step_scheduled', 'step_failed', 'step_succeeded'] loop
        execute format('create trigger refuse_change before update or delete on payments.%I '
            'for each row execute function payments.refuse_change()', v_table);
    end loop;
end
$$;
create function payments.has_succeeded(payment_id bigint, step text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select exists (select from payments.step_succeeded f where f.payment_id = $1 and f.step = $2) $$;

create function payments.wake(payment_id bigint, due timestamptz default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.enqueue('db_function', jsonb_build_object('task_type', 'db_function',
        'db_function', 'payments.supervisor', 'payment_id', payment_id), due => due,
        unique_key => format('payments %s', payment_id));
    if due is null then
        perform kinfolk.hasten('db_function', format('payments %s', payment_id));
    end if;
end
$$;

-- 2. The handlers of a step.
create function payments.get_request(payload jsonb) returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_build_object('success', true, 'payload', jsonb_build_object(
        'url', format('https://bank.example/%s', payload ->> 'step'),
        'body', jsonb_build_object('payment', p.payment_id, 'card', p.card, 'cents', p.cents, 'step', payload -> 'step')))
    from payments.payment p
    where p.payment_id = (payload ->> 'payment_id')::bigint
$$;

create function payments.record_success(payload jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := payload #>> '{original_payload,payment_id}';
begin
    perform from payments.payment p where p.payment_id = v_id for update;
    insert into payments.step_succeeded (payment_id, step) values (v_id, payload #>> '{original_payload,step}')
    on conflict do nothing;
    perform payments.wake(v_id);
    return '{"success": true}';
end
$$;

create function payments.record_failure(payload jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint := payload #>> '{original_payload,payment_id}';
begin
    perform from payments.payment p where p.payment_id = v_id for update;
    insert into payments.step_failed (payment_id, step, attempt, error)
    values (v_id, payload #>> '{original_payload,step}', (payload #>> '{original_payload,attempt}')::integer, payload ->> 'error')
    on conflict do nothing;
    perform payments.wake(v_id);
    return '{"success": true}';
end
$$;

-- 3. The supervisor.
create function payments.supervisor(payload jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_payment payments.payment;
    v_step text;
    v_scheduled integer;
    v_failures integer;
begin
    -- Input.
    select p.* into v_payment from payments.payment p where p.payment_id = (payload ->> 'payment_id')::bigint for update;
    if not found then
        return jsonb_build_object('success', false, 'validation_failure_message', format('there is no payment %s', payload -> 'payment_id'));
    end if;

    -- Compute: the step that is due. Null where the payment is over, or where there is nothing to do yet.
    v_step := case
        when payments.has_succeeded(v_payment.payment_id, 'capture') or payments.has_succeeded(v_payment.payment_id, 'void') then null
        when not payments.has_succeeded(v_payment.payment_id, 'authorise') then 'authorise'
        -- One that was begun is seen through: money is not taken and given back at once.
        when exists (select from payments.step_scheduled f where f.payment_id = v_payment.payment_id and f.step = 'void') then 'void'
        when exists (select from payments.shipped f where f.payment_id = v_payment.payment_id) then 'capture'
        when now() >= v_payment.capture_until then 'void'
    end;
    select count(*) into v_scheduled from payments.step_scheduled f where f.payment_id = v_payment.payment_id and f.step = v_step;
    select count(*) into v_failures from payments.step_failed f where f.payment_id = v_payment.payment_id and f.step = v_step;

    -- Output.
    if v_step is not null and v_scheduled <= v_failures and v_failures < v_payment.max_attempts then
        insert into payments.step_scheduled (payment_id, step, attempt) values (v_payment.payment_id, v_step, v_scheduled + 1);
        perform kinfolk.enqueue('http', jsonb_build_object('task_type', 'http', 'payment_id', v_payment.payment_id, 'step', v_step,
            'attempt', v_scheduled + 1, 'before_handler', 'payments.get_request', 'success_handler', 'payments.record_success',
            'error_handler', 'payments.record_failure'));
    elsif v_step is null and payments.has_succeeded(v_payment.payment_id, 'authorise')
        and not exists (select from payments.step_succeeded f where f.payment_id = v_payment.payment_id and f.step <> 'authorise')
    then
        -- Nothing to do before the deadline, unless the goods leave: that fact wakes it.
        perform payments.wake(v_payment.payment_id, v_payment.capture_until);
    end if;
    return jsonb_build_object('success', true, 'payload', jsonb_build_object('step', v_step));
end
$$;

-- 4. The kickoff, and the fact from outside.
create function payments.pay(card text, cents bigint, capture_within interval default '7 days') returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id bigint;
begin
    insert into payments.payment as p (card, cents, capture_until) values (card, cents, now() + capture_within)
    returning p.payment_id into v_id;
    perform payments.wake(v_id);
    return v_id;
end
$$;

create function payments.ship(payment_id bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform from payments.payment p where p.payment_id = ship.payment_id for update;
    insert into payments.shipped (payment_id) values (ship.payment_id) on conflict do nothing;
    perform payments.wake(ship.payment_id);
end
$$;

-- 5. Grants.
revoke all on all routines in schema payments from public;
grant usage on schema payments to kinfolk_worker, kinfolk_producer;
grant execute on function payments.supervisor(jsonb), payments.get_request(jsonb), payments.record_success(jsonb),
    payments.record_failure(jsonb)
to kinfolk_worker;
grant execute on function payments.pay(text, bigint, interval), payments.ship(bigint) to kinfolk_producer;
reset role;
select kinfolk.register_command(n.name, handler => n.name)
from pg_catalog.unnest(array['db_function', 'http']) as n(name)
where not exists (select from kinfolk.commands() c where c.name = n.name);
commit;
