-- How far a function in the database has come that fanned out: its last fan-out (`fan_out`, null where that had no sub-tasks), its `total` and
-- `verdict`, what the function `returned`, and the function that goes on (`handler`): null while the fan-out is not settled, and where
-- nothing is named for its verdict. No row for a task that has not fanned out. Locks nothing; reads `checkpoint` and `fan_out` by their keys.

create or replace function kinfolk.continuation_of(p_task bigint)
returns table (fan_out bigint, total integer, verdict text, returned jsonb, handler text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select f.id, coalesce(f.total, 0), coalesce(f.verdict, case when f.id is null then 'completed' end), t.value -> 'returned',
        case
            when f.id is null or f.verdict = 'completed' then t.value ->> 'and_then'
            when f.verdict is not null then t.value ->> 'otherwise'
        end
    from (
        select c.value, c.occurrence
        from kinfolk.checkpoint c
        where c.task_id = p_task
            and c.branch = ''
            and c.name = 'then'
            and c.kind = 'step'
            and c.digest = 'sql'
        order by c.occurrence desc
        limit 1
    ) t
    left join kinfolk.checkpoint w
        on w.task_id = p_task and w.branch = '' and w.name = 'fan_out' and w.occurrence = t.occurrence
    left join kinfolk.fan_out f on f.id = (w.value #>> '{}')::bigint;
end
$$;
