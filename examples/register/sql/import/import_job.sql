-- Imports: a job is a CSV text about one kind of unit. Its lines are kept until the job is cleaned up, with an error for each bad field.

create table register.import_job (
    id bigint generated always as identity primary key,
    kind text not null check (kind in ('enterprise', 'legal_unit', 'establishment', 'figure')),
    state text not null default 'uploaded' check (state in ('uploaded', 'processing', 'finished', 'failed')),
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    header text[] not null,
    lines integer not null,
    lines_done integer not null default 0,
    rows_good integer not null default 0,
    rows_bad integer not null default 0,
    error text
);

create table register.import_line (
    job_id bigint not null references register.import_job on delete cascade,
    line integer not null,
    content text not null,
    primary key (job_id, line)
);

create table register.import_error (
    job_id bigint not null references register.import_job on delete cascade,
    line integer not null,
    column_name text not null,
    message text not null,
    primary key (job_id, line, column_name)
);

-- The fields of a line of CSV; null where a quote is not closed. Quotes stand around a field, and are doubled inside.
create function register.csv_fields(line text) returns text[]
language sql immutable
as $$
    select case
        when line not like '%"%' then string_to_array(line, ',')
        when length(regexp_replace(line, '[^"]', '', 'g')) % 2 = 1 then null
        else array(
            select case when m[1] is not null then replace(m[1], '""', '"') else m[2] end
            from regexp_matches(line || ',', '(?:"((?:[^"]|"")*)"|([^",]*)),', 'g') with ordinality as f(m, nth)
            order by f.nth)
        end
$$;

-- Takes a CSV text with a header, and has it imported. Answers the job. The first line after the header is line 2.
create function register.upload(kind text, csv text) returns bigint
language plpgsql
as $$
declare
    v_job bigint;
    v_lines text[] := regexp_split_to_array(rtrim(csv, E'\r\n'), E'\r?\n');
begin
    insert into register.import_job as j (kind, header, lines)
    values (upload.kind, coalesce(register.csv_fields(v_lines[1]), '{}'), greatest(cardinality(v_lines) - 1, 0))
    returning j.id into v_job;
    insert into register.import_line (job_id, line, content)
    select v_job, l.nth, l.content
    from unnest(v_lines) with ordinality as l(content, nth)
    where l.nth > 1;
    perform kinfolk.enqueue('import_job_process', jsonb_build_object('job', v_job));
    return v_job;
end
$$;
