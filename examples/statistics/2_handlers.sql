-- The handlers: plain functions of a payload. Each runs in one transaction with the settle of its task, so what it did is
-- there if, and only if, its task is done.

-- Takes what has changed, and hands it out in batches of a hundred. The batches run side by side, and the task is done
-- when all of them are. What has to come after that is not a child: it follows up.
create function stats.derive(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_batches integer;
begin
    with taken as (
        delete from stats.change c
        where payload -> 'regions' ? c.region
        returning c.enterprise_id
    ),
    numbered as (
        select t.enterprise_id, (row_number() over (order by t.enterprise_id) - 1) / 100 as batch
        from (select distinct enterprise_id from taken) t
    ),
    batches as (
        select n.batch, jsonb_agg(n.enterprise_id order by n.enterprise_id) as ids
        from numbered n
        group by n.batch
    ),
    spawned as (
        select kinfolk.spawn('derive_batch', jsonb_build_object('ids', b.ids))
        from batches b
        order by b.batch
    )
    select count(*) into v_batches from spawned;

    perform kinfolk.follow_up('flush', unique_key => 'flush');
    perform kinfolk.follow_up('analyze', unique_key => 'analyze');
    perform kinfolk.follow_up('report', unique_key => 'report', starts_when => 'completed');
    return jsonb_build_object('batches', v_batches);
end
$$;

-- Derives the units of some enterprises into the staging table. No ANALYZE here: it locks out the other batches. One that
-- turns out to be too much for one task leaves half of its work to a sibling, and the parent waits for that too.
create function stats.derive_batch(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_ids integer[] := array(select jsonb_array_elements_text(payload -> 'ids')::integer);
    v_half integer := cardinality(v_ids) / 2;
begin
    if (select sum(e.employees) from stats.enterprise e where e.id = any (v_ids)) > 100000 and v_half > 0 then
        perform kinfolk.spawn_sibling('derive_batch', jsonb_build_object('ids', to_jsonb(v_ids[v_half + 1:])));
        v_ids := v_ids[:v_half];
    end if;
    delete from stats.staged s where s.enterprise_id = any (v_ids);
    insert into stats.staged (enterprise_id, region, size)
    select e.id, e.region, case when e.employees < 10 then 'small' when e.employees < 250 then 'medium' else 'large' end
    from stats.enterprise e
    where e.id = any (v_ids);
    -- For those who want to watch it, and for the tests: alter database … set stats.pause = 0.1
    perform pg_sleep(coalesce(current_setting('stats.pause', true), '0')::float8);
    return jsonb_build_object('enterprises', cardinality(v_ids));
end
$$;

-- Publishes what was staged, all at once.
create function stats.flush(payload jsonb) returns jsonb
language plpgsql
as $$
declare
    v_units bigint;
begin
    with staged as (
        delete from stats.staged s
        returning s.*
    )
    insert into stats.unit (enterprise_id, region, size)
    select s.enterprise_id, s.region, s.size
    from staged s
    on conflict (enterprise_id) do update set
        region = excluded.region,
        size = excluded.size;
    get diagnostics v_units = row_count;
    return jsonb_build_object('units', v_units);
end
$$;

create function stats.analyze(payload jsonb) returns void
language plpgsql
as $$
begin
    analyze stats.unit;
end
$$;

create function stats.report(payload jsonb) returns void
language sql
as $$
    delete from stats.report;
    insert into stats.report (region, size, units)
    select u.region, u.size, count(*)
    from stats.unit u
    group by u.region, u.size
$$;

-- An import: many rows in one statement, and the triggers see to the rest.
create function stats.import(payload jsonb) returns void
language sql
as $$
    insert into stats.enterprise (id, region, employees)
    select n, 'region ' || n % 7, n % 500
    from generate_series((payload ->> 'from')::integer, (payload ->> 'to')::integer) n
    on conflict (id) do update set employees = excluded.employees + 1
$$;

-- A procedure: it commits as it goes, so that it never holds a lock for long. It is run at least once, and must bear to
-- be run again.
create procedure stats.cleanup(payload jsonb)
language plpgsql
as $$
declare
    v_gone bigint;
begin
    loop
        delete from stats.log l
        where l.ctid in (select o.ctid from stats.log o where o.ended < now() - (payload ->> 'keep')::interval limit 1000);
        get diagnostics v_gone = row_count;
        commit;
        exit when v_gone = 0;
    end loop;
end
$$;

-- The hooks: before and after each handler of the pipeline, in its transaction.
create function stats.note_begin(payload jsonb) returns void
language sql
as $$
    insert into stats.log (task, command, began)
    select kinfolk.current_task(), t.command, clock_timestamp()
    from kinfolk.tasks t
    where t.id = kinfolk.current_task()
$$;

create function stats.note_end(payload jsonb) returns void
language sql
as $$
    update stats.log l
    set ended = clock_timestamp()
    where l.task = kinfolk.current_task()
        and l.ended is null
$$;
