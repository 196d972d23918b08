-- Why a task is not running: one row for each reason, in the order of `kinfolk_core::explain::Reason`, with the words of that type;
-- one row without a reason for a task that runs or has ended. KF002 when there is no such task.
--
-- Looks at what is there, not at what a claim has noted down. Locks nothing; all of it is seen by one snapshot.

create or replace function kinfolk.explain(task bigint)
returns table (state text, seen_at timestamptz, worker uuid, reason text, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_task kinfolk.task;
    v_now timestamptz := kinfolk.clock();
    v_reasons text[];
    v_details jsonb[];
begin
    if explain.task is null then
        raise exception using errcode = 'KF001', message = 'task is null', hint = 'give the number of a task';
    end if;
    select t.* into v_task from kinfolk.task t where t.id = explain.task;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no task %s', explain.task);
    end if;
    if v_task.state = 'waiting' then
        select array_agg(r.reason order by r.nth), array_agg(r.detail order by r.nth)
        into v_reasons, v_details
        from kinfolk.why_waiting(v_task) r;
    elsif v_task.state = 'pending' then
        select array_agg(r.reason order by r.nth, r.name), array_agg(r.detail order by r.nth, r.name)
        into v_reasons, v_details
        from (
            select p.nth, p.reason, p.detail, '' as name from kinfolk.why_pending(v_task, v_now) p
            union all
            select k.nth, k.reason, k.detail, k.name from kinfolk.why_keys(v_task, v_now) k
        ) r;
        if v_reasons is null then
            v_reasons := '{in_line}';
            v_details := array[jsonb_build_object('before', kinfolk.count_before(v_task))];
        end if;
    end if;
    return query
    select v_task.state::text, v_now, v_task.worker_id, r.reason, r.detail
    from (select) one
    left join unnest(v_reasons, v_details) as r(reason, detail) on true;
end
$$;
