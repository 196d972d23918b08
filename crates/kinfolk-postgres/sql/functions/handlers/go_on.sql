-- Where the function of a resumed task goes on: what is to be called (`handler`), and what it gets beside the payload (`resumed`). Of
-- a task whose fan-out is not settled the `kind` is `suspended`, and it waits again. Nothing for one that has not fanned out. A fan-out
-- that did not end as its rule demands, where nothing is named for that, is raised (KF025). The caller has checked the token.
--
-- Locks nothing, but for `await_more`. Reads `checkpoint` and `fan_out` by their keys.

create or replace function kinfolk.go_on(p_task bigint, p_token uuid, out handler text, out kind text, out resumed jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_then record;
    v_fan_out record;
begin
    select c.value, c.occurrence
    into v_then
    from kinfolk.checkpoint c
    where c.task_id = p_task
        and c.branch = ''
        and c.name = 'then'
        and c.kind = 'step'
        and c.digest = 'sql'
    order by c.occurrence desc
    limit 1;
    if not found then
        return;
    end if;
    select f.id, f.total, f.decided_at, f.verdict
    into v_fan_out
    from kinfolk.checkpoint c
    join kinfolk.fan_out f on f.id = (c.value #>> '{}')::bigint
    where c.task_id = p_task
        and c.branch = ''
        and c.name = 'fan_out'
        and c.occurrence = v_then.occurrence;
    if found and v_fan_out.verdict is null then
        perform kinfolk.await_more(p_task, p_token, v_fan_out.id, v_fan_out.total);
        kind := 'suspended';
        return;
    end if;
    kind := 'function';
    handler := v_then.value ->> case when v_fan_out.verdict <> 'completed' then 'otherwise' else 'and_then' end;
    if handler is null then
        perform kinfolk.refuse_fan_out(v_fan_out.id);
    end if;
    resumed := jsonb_build_object('returned', v_then.value -> 'returned', 'verdict', coalesce(v_fan_out.verdict, 'completed'),
        'total', coalesce(v_fan_out.total, 0), 'results', kinfolk.sub_results(v_fan_out.id));
end
$$;
