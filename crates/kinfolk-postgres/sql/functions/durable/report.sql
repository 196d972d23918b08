-- Stores the progress report of a running task's handler. Answers whether the token still holds. Locks the task, and
-- waits for nothing after that.
create or replace function kinfolk.report(p_task bigint, p_token uuid, p_report jsonb) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    if num_nulls(p_task, p_token, p_report) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task, p_token or p_report is null',
            hint = 'give the number of the task, the token of its claim and an object';
    end if;
    perform kinfolk.require_read_committed();
    if octet_length(p_report ->> 'note') > kinfolk.progress_note_bytes_max() then
        raise exception using errcode = 'KF001', message = 'the note is too long',
            hint = format('it may have %s bytes', kinfolk.progress_note_bytes_max());
    end if;
    update kinfolk.task t
    set report = p_report
    where t.id = p_task
        and t.token = p_token
        and t.worker_id is not null;
    return found;
end
$$;
