-- The numbers between which a page of a filter lies, both excluded: nobody below a task has a smaller number than it.

create or replace function kinfolk.filter_range(p_filter jsonb, out lowest bigint, out highest bigint)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        greatest((p_filter ->> 'after')::bigint, (p_filter ->> 'parent')::bigint,
            greatest((p_filter ->> 'root')::bigint, -9223372036854775807) - 1, -9223372036854775808),
        coalesce((p_filter ->> 'before')::bigint, 9223372036854775807)
$$;
