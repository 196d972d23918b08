-- Appends a payload to the duplicates that are applied to a task when it starts, and refuses it if the payload becomes too large
-- by that. Locks nothing that exists: it only inserts.
--
-- To apply all of them for every newcomer would cost the square of their number, so each row keeps a bound: the size of
-- the payload can't be more than the sum of the sizes. Only when that is beyond the limit are they applied, to know; and
-- where there are many, only after a quarter more have come. (So a payload may get somewhat larger than the limit.) Reads
-- the last row of `duplicate_task`.

create or replace function kinfolk.add_duplicate(
    p_id bigint, p_task bigint, p_on_duplicate kinfolk.on_duplicate, p_payload jsonb
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_max bigint := kinfolk.payload_bytes_max();
    v_last record;
    v_bound bigint := octet_length(p_payload::text);
    v_since integer := 0;
    v_checked integer := 0;
begin
    if p_on_duplicate = 'merge' then
        select d.bound, d.since, d.checked
        into v_last
        from kinfolk.duplicate d
        where d.task_id = p_task
        order by d.arrival desc
        limit 1;
        if found then
            v_bound := v_bound + v_last.bound;
            v_since := v_last.since + 1;
            v_checked := v_last.checked;
        else
            v_bound := v_bound + octet_length(kinfolk.payload_of(p_task)::text);
        end if;
    end if;
    insert into kinfolk.duplicate (id, task_id, on_duplicate, payload, bound, since, checked)
    values (p_id, p_task, p_on_duplicate, p_payload, v_bound, v_since, v_checked)
    on conflict (id) do nothing;
    if v_bound <= v_max or v_since < v_checked / 4 then
        return;
    end if;
    v_bound := kinfolk.json_bytes(kinfolk.payload_with_duplicates(p_task));
    if v_bound > v_max then
        raise exception using errcode = 'KF006',
            message = format('the payload is %s bytes once merged, more than %s', v_bound, v_max),
            hint = 'keep the data elsewhere and send a reference', detail = v_bound::text;
    end if;
    update kinfolk.duplicate d
    set
        bound = v_bound,
        since = 0,
        checked = v_checked + v_since
    where d.id = p_id;
end
$$;
