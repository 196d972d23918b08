-- Whether the payload of a task, with its duplicates applied, has this value at this path, to the digit.

create or replace function kinfolk.has_at(p_task kinfolk.task, p_path text[], p_value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_payload jsonb := p_task.payload;
begin
    if p_task.unique_key is not null then
        v_payload := kinfolk.payload_with_duplicates(p_task.id);
    elsif v_payload is null then
        v_payload := kinfolk.payload_of(p_task.id);
    end if;
    return (v_payload #> p_path)::text is not distinct from p_value::text and v_payload #> p_path is not null;
end
$$;
