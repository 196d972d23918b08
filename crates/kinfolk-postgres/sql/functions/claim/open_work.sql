-- The second step of a claim: opens what has become due on its queue, follow-ups whose families have ended, and duplicates that may
-- have come too late for their task, and says what there is to take. `p_beside`: there may be open tasks in other lanes
-- than `top`; that is not looked up on a queue with limits, nor behind cursors, where dead entries pile up in every lane.
--
-- The caller has the queue's lock. Locks what `promote`, `open_due` and `open_follow_ups` lock, never waiting for a row. Reads
-- `task_due`, `released_key_queue` and `follow_up_ended`, and the heads of `task_suspect` and `task_ready`.

create or replace function kinfolk.open_work(p_queue integer, p_commands text[], p_beside boolean) returns kinfolk.claim_work
language plpgsql volatile
as $$
declare
    v_work kinfolk.claim_work;
    v_promoted boolean := false;
    v_opened boolean := false;
begin
    v_work.at := kinfolk.clock();
    v_work.made := false;
    v_work.for_others := false;
    v_work.left_out := false;
    loop
        -- One statement: an idle worker waits for each.
        select
            (select t.due from kinfolk.task t where t.queue_id = p_queue and t.gate = 'time' order by t.due limit 1),
            exists (select from kinfolk.released_key l where l.queue_id = p_queue),
            exists (select from kinfolk.follow_up f where f.queue_id = p_queue and f.ended is not null),
            exists (
                select
                from kinfolk.open_suspect t
                where t.queue_id = p_queue),
            p_beside or exists (
                select
                from kinfolk.open_task t
                where t.queue_id = p_queue
                    and t.lane < 'top')
        into v_work.next_due, v_work.has_released_keys, v_work.has_follow_ups, v_work.has_suspects, v_work.beside;
        -- Each of these may bring more of the rest.
        if v_work.has_released_keys and not v_promoted then
            select p.left_out, p.made into v_work.left_out, v_work.made from kinfolk.promote(p_queue, v_work.at) p;
            v_promoted := true;
        elsif v_work.next_due <= v_work.at and not v_opened then
            v_work.for_others := kinfolk.open_due(p_queue, p_commands, v_work.at);
            v_opened := true;
        else
            exit;
        end if;
    end loop;
    if v_work.has_follow_ups then
        v_work.for_others := kinfolk.open_follow_ups(p_queue, p_commands, v_work.at) or v_work.for_others;
    end if;
    return v_work;
end
$$;
