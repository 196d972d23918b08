-- How many of the tasks that `count_matching` counts each command has, by name; `more` is the same in all rows. Reads what
-- `matching` reads, and those tasks by number.

create or replace function kinfolk.count_by_command(p_filter jsonb)
returns table (command text, tasks bigint, more boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_found record;
begin
    select * into v_found from kinfolk.matching(p_filter);
    return query
    select c.name, n.tasks, v_found.more
    from (
        select t.command_id, count(*) as tasks
        from unnest(v_found.ids) as u(id)
        cross join lateral (select t.command_id from kinfolk.task t where t.id = u.id offset 0) t
        group by t.command_id
    ) n
    join kinfolk.command c on c.id = n.command_id
    order by c.name collate "C";
end
$$;
