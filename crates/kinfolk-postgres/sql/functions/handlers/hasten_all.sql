-- Makes pending tasks that are not due, named by command and unique key, due now; the next claim opens them.
-- Locks them as far as nobody else has, so it never waits: the settle of a handler may hold other rows. Reads `task_unique`.

create or replace function kinfolk.hasten_all(p_commands text[], p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_queues integer[];
begin
    with meant as materialized (
        select t.id
        from unnest(p_commands, p_keys) as g(command, key)
        join kinfolk.command c on c.name = g.command
        join kinfolk.task t on t.unique_key = g.key and t.command_id = c.id
        where t.state::text = 'pending'
            and t.gate::text = 'time'
            and t.due > v_now
        order by t.id
        for update of t skip locked
    ),
    moved as (
        update kinfolk.task t
        set
            due = v_now,
            position = least(t.position, v_now)
        from meant m
        where t.id = m.id
        returning t.queue_id
    )
    select array_agg(distinct m.queue_id) into v_queues from moved m;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
