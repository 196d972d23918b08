-- Refuses a whole call if a task that it makes has no command, or a payload that no store would keep, or if there are more than
-- `p_most`.
-- `p_each`: something that there is of each task, such as its number. Answers how large the largest payload is in memory.

create or replace function kinfolk.require_payloads(p_each anyarray, p_commands text[], p_payloads jsonb[], p_most integer)
returns integer
language plpgsql
as $$
declare
    v_payload bigint;
    v_largest integer;
    v_given bigint;
    v_bytes bigint;
begin
    if cardinality(p_each) > p_most then
        raise exception using errcode = 'KF001', message = format('%s tasks in one call', cardinality(p_each)),
            hint = format('send at most %s at once', p_most);
    end if;
    if cardinality(p_commands) is distinct from cardinality(p_each)
        or cardinality(p_payloads) is distinct from cardinality(p_each)
    then
        raise exception using errcode = 'KF001', message = 'numbers, commands and payloads must be as many';
    end if;

    if array_position(p_commands, null) is not null or array_position(p_each, null) is not null then
        raise exception using errcode = 'KF001', message = 'a command, or the number of a task, is null',
            hint = 'name the command of each task';
    end if;

    select max(pg_column_size(p)), count(p)
    into v_largest, v_given
    from unnest(p_payloads) p;
    if v_given < cardinality(p_payloads) then
        raise exception using errcode = 'KF001', message = 'a payload is null',
            hint = 'send {} when there is nothing to say';
    end if;
    -- By its size in memory first: no value's text is as much as eight times that.
    v_payload := kinfolk.payload_bytes_max();
    if v_largest * 8::bigint > v_payload then
        select kinfolk.json_bytes(p)
        into v_bytes
        from unnest(p_payloads) p
        where kinfolk.json_longer_than(p, v_payload)
        limit 1;
        if found then
            raise exception using errcode = 'KF006',
                message = format('the payload is %s bytes, more than %s', v_bytes, v_payload),
                hint = 'keep the data elsewhere and send a reference', detail = v_bytes::text;
        end if;
    end if;
    return v_largest;
end
$$;
