-- Where the function of a resumed task goes on: what is to be called (`handler`), and what it gets beside the payload (`resumed`). Of
-- a task whose fan-out is not settled the `kind` is `suspended`, and it waits again. Nothing for one that has not fanned out. A fan-out
-- that did not end as its rule demands, where nothing is named for that, is raised (KF025). The caller has checked the token.
--
-- Locks nothing, but for `await_more`.

create or replace function kinfolk.go_on(p_task bigint, p_token uuid, out handler text, out kind text, out resumed jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_next record;
begin
    select c.* into v_next from kinfolk.continuation_of(p_task) c;
    if not found then
        return;
    elsif v_next.verdict is null then
        perform kinfolk.await_more(p_task, p_token, v_next.fan_out, v_next.total);
        kind := 'suspended';
        return;
    elsif v_next.handler is null then
        perform kinfolk.refuse_fan_out(v_next.fan_out);
    end if;
    kind := 'function';
    handler := v_next.handler;
    resumed := jsonb_build_object('returned', v_next.returned, 'verdict', v_next.verdict, 'total', v_next.total,
        'results', kinfolk.sub_results(v_next.fan_out));
end
$$;
