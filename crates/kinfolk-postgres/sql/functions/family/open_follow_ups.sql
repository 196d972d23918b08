-- Opens the follow-ups of a queue that have no family left to wait for, one page of them by number. Cancels follow-ups that
-- need a completed family and do not get one. Answers whether it opened a task of a command that is not among those given.
--
-- Reads `follow_up_ended` once for each follow-up, not for each family, and `follow_up_task`. Locks the follow-ups by number,
-- skips those that another call has locked, and decides afterwards: a family that joins a follow-up locks it first.

create or replace function kinfolk.open_follow_ups(p_queue integer, p_commands text[], p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_waiting bigint[];
    v_settled bigint[];
    v_judged kinfolk.judged_follow_ups;
    v_for_others boolean;
begin
    select f.waiting, f.settled into v_waiting, v_settled from kinfolk.ended_follow_ups(p_queue) f;
    -- point: follow_ups.looked
    if v_waiting is not null then
        perform kinfolk.forget_families(v_waiting);
    end if;
    with settled as materialized (
        select t.id
        from kinfolk.task t
        where t.id = any (v_settled)
            and t.state = 'pending'
        order by t.id
        for update skip locked
    )
    select array_agg(s.id order by s.id) into v_settled from settled s;
    if v_settled is null then
        return false;
    end if;

    select j.* into v_judged from kinfolk.judge_follow_ups(v_settled) j;
    with opened as (
        update kinfolk.task t
        set gate = case when t.due > p_now then 'time'::kinfolk.gate else 'open'::kinfolk.gate end
        where t.id = any (v_judged.opened)
        returning t.command_id
    )
    select bool_or(c.name <> all (p_commands))
    into v_for_others
    from (select distinct o.command_id from opened o) o
    join kinfolk.command c on c.id = o.command_id;
    perform kinfolk.skip_follow_ups(v_judged.skipped, v_judged.spoilers, p_now);
    delete from kinfolk.follow_up f where f.task_id = any (v_judged.opened || v_judged.skipped);
    return coalesce(v_for_others, false);
end
$$;
