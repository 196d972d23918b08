-- Replaces the engine's clock, and its idea of the server's start, by one row of a table. For tests only.

create table if not exists kinfolk.test_clock (
    at timestamptz not null,
    -- By a moved clock every heartbeat may lie before the real start of the server.
    server_started_at timestamptz not null default '-infinity'
);

alter table kinfolk.test_clock owner to kinfolk_owner;

insert into kinfolk.test_clock (at)
select clock_timestamp()
where not exists (select from kinfolk.test_clock);

create or replace function kinfolk.clock() returns timestamptz
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select c.at from kinfolk.test_clock c $$;

create or replace function kinfolk.server_started_at() returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select c.server_started_at from kinfolk.test_clock c $$;
