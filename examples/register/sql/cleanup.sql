-- Retention, on schedules: finished families of tasks, and import jobs with their lines and errors. Both are procedures that commit as they go, so
-- none holds a lock for long, and both bear to be run again.

create procedure register.task_cleanup(payload jsonb)
language plpgsql
as $$
declare
    v_done record;
    v_rule record;
    v_after bigint;
begin
    for v_rule in select * from (values ('completed', interval '7 days'), ('cancelled', '7 days'), ('failed', '30 days')) as r(state, kept) loop
        v_after := 0;
        while v_after is not null loop
            select * into v_done
            from kinfolk.bulk('delete', jsonb_build_object('state', jsonb_build_array(v_rule.state), 'roots', true,
                'finished_before', to_char((now() - v_rule.kept) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'after', v_after,
                'limit', 500));
            v_after := v_done.next;
            commit;
        end loop;
    end loop;
end
$$;

create procedure register.import_job_cleanup(payload jsonb)
language plpgsql
as $$
declare
    v_job bigint;
begin
    loop
        delete from register.import_job j
        where j.id = (select o.id from register.import_job o where o.finished_at < now() - interval '30 days' order by o.id limit 1)
        returning j.id into v_job;
        exit when v_job is null;
        commit;
        v_job := null;
    end loop;
end
$$;
