-- Makes a worker known, with a fresh lease; one that is known already is refreshed. Takes its own row.

create or replace function kinfolk.register_worker(
    p_worker uuid, p_name text, p_queues text[], p_commands text[], p_lease_us bigint,
    p_version text default ''
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_now timestamptz := kinfolk.clock();
begin
    if num_nulls(p_worker, p_name, p_queues, p_commands, p_lease_us) > 0 then
        raise exception using errcode = 'KF001', message = 'p_worker, p_name, p_queues, p_commands or p_lease_us is null',
            hint = 'give the worker an id, a name, queues, commands and a lease';
    end if;
    if array_position(p_queues, null) is not null or array_position(p_commands, null) is not null then
        raise exception using errcode = 'KF001', message = 'p_queues or p_commands has a null in it', hint = 'leave it out';
    end if;
    perform kinfolk.require_read_committed();
    if p_lease_us not between kinfolk.lease_min_us() and kinfolk.lease_max_us() then
        raise exception using errcode = 'KF001', message = format('a lease of %s is out of range', kinfolk.span(p_lease_us)),
            hint = 'it must be 1 second to 1 hour';
    end if;
    if cardinality(p_commands) > kinfolk.worker_commands_max() then
        raise exception using errcode = 'KF001', message = format('%s commands of one worker', cardinality(p_commands)),
            hint = format('at most %s', kinfolk.worker_commands_max());
    end if;
    insert into kinfolk.worker as w
        (id, name, queues, commands, started_at, renewed_at, lease_us, lease_until, steady_since,
        version)
    values
        (p_worker, p_name, p_queues, p_commands, v_now, v_now, p_lease_us, v_now + kinfolk.span(p_lease_us), v_now,
        coalesce(p_version, ''))
    on conflict (id) do update set
        name = excluded.name,
        version = excluded.version,
        queues = excluded.queues,
        commands = excluded.commands,
        renewed_at = excluded.renewed_at,
        lease_us = excluded.lease_us,
        lease_until = excluded.lease_until,
        steady_since = case when v_now > w.lease_until then v_now else w.steady_since end;

    insert into kinfolk.worker_queue (queue_id, worker_id, idle)
    select q.id, p_worker, false
    from kinfolk.queue q
    where q.name = any (p_queues)
    on conflict do nothing;
end
$$;
