-- The tasks at which a listing looks, in its order: these, or, with null, at most `p_look` between two numbers. Inlined, so that
-- no more of them are read than are asked for. Reads the primary key.

create or replace function kinfolk.looked_at(p_ids bigint[], p_newest boolean, p_lowest bigint, p_highest bigint, p_look integer)
returns setof kinfolk.task
language sql stable
as $$
    select t.*
    from (
        select u.id
        from unnest(p_ids) with ordinality as u(id, nth)
        order by case when p_newest then -u.nth else u.nth end
    ) c
    cross join lateral (select t.* from kinfolk.task t where t.id = c.id offset 0) t
    union all
    (
        select t.*
        from kinfolk.task t
        where p_ids is null
            and p_newest
            and t.id > p_lowest
            and t.id < p_highest
        order by t.id desc
        limit p_look
    )
    union all
    (
        select t.*
        from kinfolk.task t
        where p_ids is null
            and not p_newest
            and t.id > p_lowest
            and t.id < p_highest
        order by t.id
        limit p_look
    )
$$;
