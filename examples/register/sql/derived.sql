-- What is derived from the register, and what the pipeline needs on the way. Each table is made from the one before it:
-- register → statistical_unit → spans and facets → history and history facets.

-- Each unit in each slice of its life, with the figures of all that belongs to it. `enterprise_id` is the group by which it is derived.
create table register.statistical_unit (
    unit_type register.unit_type not null,
    unit_id integer not null,
    valid_from date not null,
    valid_until date not null,
    enterprise_id integer not null,
    legal_unit_id integer,
    name text not null,
    legal_form integer not null,
    region integer not null,
    activity integer not null,
    employees bigint not null,
    turnover bigint not null,
    -- How many units stand right below it.
    parts integer not null,
    -- Its life begins with this slice; ends with it; activity, region or legal form are new in it.
    is_birth boolean not null,
    is_death boolean not null,
    is_change boolean not null,
    primary key (unit_type, unit_id, valid_from)
);

create index statistical_unit_enterprise on register.statistical_unit (enterprise_id);

-- What batches have derived and no flush has merged. A unit that is no more has one row without `valid_from`.
create unlogged table register.statistical_unit_staging (
    like register.statistical_unit,
    check (valid_from is not null or name is null)
);

alter table register.statistical_unit_staging
alter column valid_from drop not null,
alter column valid_until drop not null,
alter column name drop not null,
alter column legal_form drop not null,
alter column region drop not null,
alter column activity drop not null,
alter column employees drop not null,
alter column turnover drop not null,
alter column parts drop not null,
alter column is_birth drop not null,
alter column is_death drop not null,
alter column is_change drop not null;

create index statistical_unit_staging_enterprise on register.statistical_unit_staging (enterprise_id);

-- One derivation: which units it is about.
create table register.derive_cycle (
    id bigint generated always as identity primary key,
    began_at timestamptz not null default clock_timestamp(),
    is_full boolean not null,
    establishment_ids int4multirange not null,
    legal_unit_ids int4multirange not null,
    enterprise_ids int4multirange not null
);

-- Its batches. `staged_at` is logged and the row in `staged_batch` is not: a batch that has the one and lacks the other was lost in a
-- crash, and its enterprises are derived again.
create table register.derive_batch (
    cycle bigint not null,
    batch integer not null,
    enterprise_ids int4multirange not null,
    staged_at timestamptz,
    primary key (cycle, batch)
);

create unlogged table register.staged_batch (
    cycle bigint not null,
    batch integer not null,
    primary key (cycle, batch)
);

-- How many units lived from when until when: the sums over statistical_unit, kept up by each flush. Few thousand rows whatever the size.
create table register.statistical_unit_span (
    unit_type register.unit_type not null,
    valid_from date not null,
    valid_until date not null,
    units bigint not null,
    births bigint not null,
    deaths bigint not null,
    changes bigint not null,
    employees bigint not null,
    turnover bigint not null,
    primary key (unit_type, valid_from, valid_until)
);

-- The periods that reports are made for, and which of them have to be made again.
create table register.period (
    resolution text not null check (resolution in ('year', 'year-month')),
    valid_from date not null,
    valid_until date not null,
    history_dirty boolean not null default true,
    facet_dirty boolean not null default true,
    primary key (resolution, valid_from)
);

create table register.statistical_history (
    resolution text not null,
    period date not null,
    unit_type register.unit_type not null,
    units bigint not null,
    births bigint not null,
    deaths bigint not null,
    changes bigint not null,
    employees bigint not null,
    turnover bigint not null,
    primary key (resolution, period, unit_type)
);
