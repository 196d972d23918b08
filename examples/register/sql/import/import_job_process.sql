-- Imports a job in pages of 5,000 lines, each in a transaction of its own, and notes how far it has come: one that was interrupted goes on
-- where it stopped. A page whose rows are there twice is imported twice, which changes nothing.
-- Locks the job for the time of a page.

create procedure register.import_job_process(payload jsonb)
language plpgsql
as $$
declare
    v_job bigint := payload ->> 'job';
    v_at integer;
    v_last integer;
    v_missing text;
begin
    select j.lines_done + 2, j.lines + 1, (
        select string_agg(c.name, ', ' order by c.name)
        from register.import_column c
        where c.of = j.kind and c.kind <> 'end' and c.name <> all (j.header))
    into v_at, v_last, v_missing
    from register.import_job j
    where j.id = v_job;
    if not found then
        perform kinfolk.give_up(format('there is no import job %s', v_job));
    elsif v_missing is not null then
        update register.import_job j
        set state = 'failed', finished_at = clock_timestamp(), error = format('the header lacks %s', v_missing)
        where j.id = v_job;
        return;
    end if;
    update register.import_job j set state = 'processing' where j.id = v_job;
    while v_at <= v_last loop
        perform register.import_rows(v_job, v_at, least(v_at + 4999, v_last));
        update register.import_job j
        set
            lines_done = least(v_at + 4999, v_last) - 1,
            rows_bad = (select count(distinct e.line) from register.import_error e where e.job_id = v_job)
        where j.id = v_job;
        commit;
        v_at := v_at + 5000;
    end loop;
    update register.import_job j
    set state = 'finished', finished_at = clock_timestamp(), rows_good = j.lines - j.rows_bad
    where j.id = v_job;
    commit;
    analyze register.enterprise, register.legal_unit, register.establishment, register.figure;
end
$$;
