-- The register itself: units, and what is known of them in which period. A unit has one row for each slice of its life. A slice ends where
-- it says, or where the next slice of the unit begins, so slices never overlap, whatever is written.

create schema register;

create type register.unit_type as enum ('establishment', 'legal_unit', 'enterprise');

-- Four digits; the first two are the county.
create table register.region (
    code integer primary key,
    name text not null
);

-- Four digits; the first two are the division.
create table register.activity (
    code integer primary key,
    name text not null
);

create table register.legal_form (
    code integer primary key,
    name text not null
);

create table register.enterprise (
    id integer not null,
    valid_from date not null,
    valid_until date not null default 'infinity',
    name text not null,
    primary key (id, valid_from),
    check (id > 0),
    check (valid_from < valid_until)
);

create table register.legal_unit (
    id integer not null,
    valid_from date not null,
    valid_until date not null default 'infinity',
    enterprise_id integer not null,
    name text not null,
    legal_form integer not null references register.legal_form,
    region integer not null references register.region,
    activity integer not null references register.activity,
    primary key (id, valid_from),
    check (id > 0),
    check (valid_from < valid_until)
);

create index legal_unit_enterprise on register.legal_unit (enterprise_id);

create table register.establishment (
    id integer not null,
    valid_from date not null,
    valid_until date not null default 'infinity',
    legal_unit_id integer not null,
    name text not null,
    region integer not null references register.region,
    activity integer not null references register.activity,
    primary key (id, valid_from),
    check (id > 0),
    check (valid_from < valid_until)
);

create index establishment_legal_unit on register.establishment (legal_unit_id);

-- Employment and turnover by period, of establishments and of legal units. Those of an enterprise are the sum of what it consists of.
create table register.figure (
    unit_type register.unit_type not null,
    unit_id integer not null,
    valid_from date not null,
    valid_until date not null default 'infinity',
    employees integer not null,
    turnover bigint not null,
    primary key (unit_type, unit_id, valid_from),
    check (unit_type in ('establishment', 'legal_unit')),
    check (valid_from < valid_until),
    check (employees >= 0 and turnover >= 0)
);

-- The day up to which reports reach: today, unless a test has written another day here.
create table register.calendar (
    today date
);

insert into register.calendar values (null);

create function register.today() returns date
language sql stable
as $$
    select coalesce(c.today, current_date) from register.calendar c
$$;
