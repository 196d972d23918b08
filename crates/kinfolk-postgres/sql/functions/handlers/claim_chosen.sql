-- Claims one task for a round of `process_tasks`: of those that were open when the round began (`p_chosen`) and have not run in
-- it (`p_ran`). One that opened meanwhile is left to the next round, and so is every family that stands behind it in line, for
-- a worker would come to it first. Where nothing was chosen, it may be any task. Answers its number; null when none is left.
--
-- The other open tasks are behind a shut gate while this call looks, and before it again when it returns: a caller could leave
-- them there, so no caller gets to shut a gate. Locks those tasks, then what `claim` locks. Reads what is open on the queue.

create or replace function kinfolk.claim_chosen(
    p_worker uuid, p_token uuid, p_queue text, p_commands text[], p_chosen bigint[], p_ran bigint[]
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_others bigint[] := array(
        select o.id
        from (
            select t.id, t.id <> all (p_chosen) or t.id = any (p_ran) as is_other,
                t.lane = 'top' and bool_or(t.lane = 'top' and t.id <> all (p_chosen)) over (
                    order by t.priority, t.position, t.id) as is_behind
            from unnest(kinfolk.claimable(p_queue, p_commands)) as o(id)
            join kinfolk.task t on t.id = o.id
            where p_chosen is not null
        ) o
        where o.is_other or o.is_behind);
    v_task bigint;
begin
    if num_nulls(p_queue, p_commands, p_ran) > 0 then
        raise exception using errcode = 'KF001', message = 'p_queue, p_commands or p_ran is null',
            hint = 'give the queue, the commands, and which tasks have run in this round';
    end if;
    if v_others <> '{}' then
        update kinfolk.task t set gate = 'limit' where t.id = any (v_others);
    end if;
    select c.id
    into v_task
    from kinfolk.claim(p_worker, p_token, p_queue, p_commands, 1) c
    where c.id is not null;
    if v_others <> '{}' then
        update kinfolk.task t
        set gate = 'open'
        where t.id = any (v_others)
            and t.state = 'pending'
            and t.gate = 'limit';
    end if;
    return v_task;
end
$$;
