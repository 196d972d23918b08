-- Replaces the engine's clock by one row of a table. For tests only.

create table if not exists kinfolk.test_clock (at timestamptz not null);

insert into kinfolk.test_clock (at)
select clock_timestamp()
where not exists (select from kinfolk.test_clock);

create or replace function kinfolk.clock() returns timestamptz
language sql volatile security definer
as $$ select c.at from kinfolk.test_clock c $$;

-- By the moved clock every heartbeat may lie before the server's start.
create or replace function kinfolk.server_started_at() returns timestamptz
language sql stable
as $$ select '-infinity'::timestamptz $$;
