-- The office's own data. Enterprises belong to a region; what is published about them is derived.

create schema stats;

create table stats.enterprise (
    id integer primary key,
    region text not null,
    employees integer not null
);

-- Which enterprises have changed since they were last looked at. Rows are only ever added by the triggers.
create table stats.change (
    enterprise_id integer not null,
    region text not null
);

-- What batches have derived and nobody has published yet.
create table stats.staged (
    enterprise_id integer primary key,
    region text not null,
    size text not null
);

create table stats.unit (
    enterprise_id integer primary key,
    region text not null,
    size text not null
);

create table stats.report (
    region text not null,
    size text not null,
    units bigint not null,
    primary key (region, size)
);

-- When each task began and ended, noted by the hooks around the handlers.
create table stats.log (
    task bigint not null,
    command text not null,
    began timestamptz not null,
    ended timestamptz
);
