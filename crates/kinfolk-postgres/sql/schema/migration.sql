-- The migrations of this schema, when each was run, and by which role. Its highest version is the version of the
-- schema.

create table kinfolk.migration (
    version integer primary key,
    name text not null,
    migrated_at timestamptz not null default clock_timestamp(),
    migrated_by text not null default session_user
);
