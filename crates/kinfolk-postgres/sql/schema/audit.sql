-- The actions that callers asked for through a server, and how many tasks each concerned. Kept for a while
-- (`audit_kept_us`).

create table kinfolk.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    who text not null,
    what text not null,
    subject text not null,
    tasks bigint not null
);

create index audit_at on kinfolk.audit (at);
