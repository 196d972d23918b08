-- Refuses a filter with a part that nobody knows, since a slip of the pen would match every task, and one whose value is not of
-- the kind that its part has. Answers that it is right, so that it is called in an expression: what a statement calls, psql shows
-- with that statement.

create or replace function kinfolk.require_filter(p_filter jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_known constant jsonb := '{
        "state": "an array of states, such as [\"failed\"]", "queue": "a text", "command": "a text", "parent": "the number of a task",
        "root": "the number of a task", "has_children": "true or false", "fan_out": "the number of a fan-out", "follows": "the number of a task",
        "roots": "true or false", "unique": "a text", "key": "an object with texts, such as {\"tenant\": \"acme\"}",
        "created_after": "a time", "created_before": "a time", "finished_after": "a time", "finished_before": "a time",
        "failure_kind": "a text", "failure_text": "a text",
        "payload": "a place and its value, such as {\"path\": [\"customer\", \"id\"], \"value\": 17}",
        "order": "newest or oldest", "before": "the number of a task", "after": "the number of a task", "limit": "a number"}';
    v_bad record;
begin
    if jsonb_typeof(p_filter) is distinct from 'object' then
        raise exception using errcode = 'KF001', message = 'a filter is a JSON object',
            hint = 'such as {"state": ["failed"], "command": "mail"}';
    end if;
    select g.part, g.value, v_known ->> g.part as kind
    into v_bad
    from jsonb_each(p_filter) as g(part, value)
    where not kinfolk.is_of_kind(g.value, v_known ->> g.part)
    limit 1;
    if v_bad.kind is not null then
        raise exception using errcode = 'KF001', message = format('%s of the filter is %s', v_bad.part, left(v_bad.value::text, 200)),
            hint = 'give ' || v_bad.kind;
    elsif v_bad.part is not null then
        raise exception using errcode = 'KF001', message = format('a filter has no %L', v_bad.part),
            hint = 'there are ' || (select string_agg(k.part, ', ') from jsonb_object_keys(v_known) as k(part));
    end if;
    return true;
end
$$;
