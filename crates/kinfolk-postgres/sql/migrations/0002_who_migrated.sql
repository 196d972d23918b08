-- Notes beside each migration the role that did it.

alter table kinfolk.migration add column migrated_by text not null default session_user;
