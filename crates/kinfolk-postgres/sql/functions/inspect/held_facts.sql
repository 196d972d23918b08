-- How many pending tasks are held behind all gates but `time`, by queue, and by key where one holds them; those that
-- take turns count as open. All of them together are counted so far; `cut`: there are more. Reads `task_held`.

create or replace function kinfolk.held_facts(p_page integer)
returns table (queue_id integer, fact text, command_id integer, group_id integer, key text, tasks bigint, cut boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return query
    select h.queue_id,
        case h.gate when 'turn' then 'open' when 'family' then 'limit' else h.gate::text end,
        case when h.gate = 'turn' then h.command_id end, h.blocked_group, h.blocked_key,
        count(*), bool_or(h.many >= p_page)
    from (
        select l.*, count(*) over () as many
        from (
            select t.queue_id, t.command_id, t.gate, t.blocked_group, t.blocked_key
            from kinfolk.held_task t
            limit p_page
        ) l
    ) h
    group by 1, 2, 3, 4, 5;
end
$$;
