-- The facets: units counted by county, division and legal form in each span of time. They are counted in partitions of 16,384 units side by
-- side; only partitions in which something has changed are counted again.

-- `mark` is drawn anew each time that something in the partition changes.
create table register.statistical_unit_facet_dirty_partitions (
    unit_type register.unit_type not null,
    slot integer not null,
    mark bigint not null,
    primary key (unit_type, slot)
);

create sequence register.dirty_mark;

create function register.slot(unit_id integer) returns integer
language sql immutable
as $$
    select unit_id / 16384
$$;

-- What a partition amounts to, as it was last taken into the facets.
create table register.statistical_unit_facet_partial (
    unit_type register.unit_type not null,
    slot integer not null,
    valid_from date not null,
    valid_until date not null,
    county integer not null,
    division integer not null,
    legal_form integer not null,
    units bigint not null,
    births bigint not null,
    deaths bigint not null,
    changes bigint not null,
    employees bigint not null,
    turnover bigint not null,
    primary key (unit_type, slot, valid_from, valid_until, county, division, legal_form)
);

-- What it amounts to now: counted, and not yet taken in.
create unlogged table register.statistical_unit_facet_staging (
    like register.statistical_unit_facet_partial
);

create index statistical_unit_facet_staging_slot on register.statistical_unit_facet_staging (unit_type, slot);

-- Which partitions are counted, and at which mark. It is emptied by a crash with the counts themselves; the partitions stay dirty then.
create unlogged table register.staged_partition (
    unit_type register.unit_type not null,
    slot integer not null,
    mark bigint not null,
    primary key (unit_type, slot)
);

-- The columns of the figures stand in each of these tables, since their keys differ.
create table register.statistical_unit_facet (
    unit_type register.unit_type not null,
    valid_from date not null,
    valid_until date not null,
    county integer not null,
    division integer not null,
    legal_form integer not null,
    units bigint not null,
    births bigint not null,
    deaths bigint not null,
    changes bigint not null,
    employees bigint not null,
    turnover bigint not null,
    primary key (unit_type, valid_from, valid_until, county, division, legal_form)
);

-- A period reads the spans that reach into it.
create index statistical_unit_facet_until on register.statistical_unit_facet (valid_until, valid_from);

create table register.statistical_history_facet (
    resolution text not null,
    period date not null,
    unit_type register.unit_type not null,
    county integer not null,
    division integer not null,
    legal_form integer not null,
    units bigint not null,
    births bigint not null,
    deaths bigint not null,
    changes bigint not null,
    employees bigint not null,
    turnover bigint not null,
    primary key (resolution, period, unit_type, county, division, legal_form)
);
