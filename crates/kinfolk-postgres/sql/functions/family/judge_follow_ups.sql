-- The follow-ups, among these, that no family keeps waiting. The caller has locked them. One row.
create or replace function kinfolk.judge_follow_ups(p_settled bigint[]) returns setof kinfolk.judged_follow_ups
language sql stable
as $$
    with judged as (
        select f.task_id, min(f.root_id) filter (where f.needs_completed and f.ended <> 'completed') as spoiler
        from kinfolk.follow_up f
        where f.task_id = any (p_settled)
        group by f.task_id
        having bool_and(f.ended is not null)
    )
    select array_agg(j.task_id order by j.task_id) filter (where j.spoiler is null),
        array_agg(j.task_id order by j.task_id) filter (where j.spoiler is not null),
        array_agg(j.spoiler order by j.task_id) filter (where j.spoiler is not null)
    from judged j
$$;
