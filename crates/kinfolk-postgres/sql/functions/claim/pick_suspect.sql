-- Takes a suspect among the tasks that a claim has picked, if the worker runs none: the first one, in the order of the
-- claim, for which there is room when its turn comes. It takes its place in the batch, so that another may have to stay
-- behind. Changes nothing when there is none, or another claim or heartbeat of the same worker is at work right now (it
-- is tried again). Reads `task_suspect`; locks the worker's row and the first suspects of each command and lane, never
-- waiting.

create or replace function kinfolk.pick_suspect(
    p_worker uuid, p_queue integer, p_commands text[], p_limit integer, p_lanes kinfolk.lane[], p_rooms integer[],
    p_picked bigint[],
    out ids bigint[], out tops bigint[], out starts_unique boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_suspects bigint[] := '{}';
    v_rooms integer[] := p_rooms;
    v_lane integer;
    v_task record;
begin
    ids := '{}';
    tops := '{}';
    starts_unique := false;
    if kinfolk.may_run_suspect(p_worker) then
        v_suspects := array(
            select s.id
            from unnest(p_lanes) as l(lane)
            cross join kinfolk.command c
            cross join lateral (
                select t.id
                from kinfolk.open_suspect t
                where t.queue_id = p_queue
                    and t.lane = l.lane
                    and t.command_id = c.id
                order by t.priority, t.position, t.id
                limit 1
                for update skip locked
            ) s
            where c.name = any (p_commands));
    end if;

    for v_task in
        select t.id, t.lane, t.suspect, t.unique_held and t.runs = 0 as starts_unique
        from kinfolk.task t
        where t.id = any (p_picked || v_suspects)
        order by t.priority, t.position, t.id
    loop
        v_lane := array_position(p_lanes, v_task.lane);
        continue when v_rooms[v_lane] <= 0 or (v_task.suspect and v_suspects is null);
        ids := ids || v_task.id;
        starts_unique := starts_unique or v_task.starts_unique;
        v_rooms[v_lane] := v_rooms[v_lane] - 1;
        if v_task.lane = 'top' then
            tops := tops || v_task.id;
        end if;
        if v_task.suspect then
            v_suspects := null;
        end if;
        exit when cardinality(ids) >= p_limit;
    end loop;
end
$$;
