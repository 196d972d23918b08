-- As many tasks as are named when something is shown.
create or replace function kinfolk.shown(p_tasks bigint[]) returns jsonb
language sql immutable
as $$ select to_jsonb(coalesce(p_tasks[:kinfolk.holders_shown_max()], '{}')) $$;
