-- Whether a claim of these commands on a queue may find work that concerns groups: an open task of a command with groups, a
-- task that this claim may open, or room for a task behind a key.
create or replace function kinfolk.has_work_with_keys(p_queue integer, p_commands text[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_grouped text[] := array(select c.name from kinfolk.command c where c.name = any (p_commands) and c.grouped);
    v_groups integer[];
begin
    if cardinality(v_grouped) = cardinality(p_commands) or kinfolk.has_open_task(p_queue, v_grouped) then
        return true;
    end if;
    v_groups := (select d.groups from kinfolk.declared_by(v_grouped) d);
    return exists (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.gate = 'time'
                and t.due <= v_now)
        or exists (
            select
            from kinfolk.open_suspect t
            where t.queue_id = p_queue)
        or exists (select from kinfolk.released_key l where l.queue_id = p_queue)
        or exists (select from kinfolk.follow_up f where f.queue_id = p_queue and f.ended is not null)
        or exists (select from kinfolk.ready_key m where m.queue_id = p_queue)
        or exists (select from kinfolk.reserved r where r.group_id = any (v_groups))
        or exists (select from kinfolk.spent s where s.group_id = any (v_groups) and s.wakes_at <= v_now)
        or exists (select from kinfolk.freed f where f.group_id = any (v_groups)) and kinfolk.awaited_groups(v_groups) <> '{}';
end
$$;
