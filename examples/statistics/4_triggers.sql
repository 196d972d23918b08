-- Every changed row asks for a derivation. The unique key makes thousands of them one pending task; their payloads are
-- merged, so that it knows every region that changed. A task that has started no longer holds the key: what changes then
-- is for the next one, which waits behind it.

create function stats.enterprise_changed() returns trigger
language plpgsql
as $$
begin
    insert into stats.change (enterprise_id, region) values (new.id, new.region);
    perform kinfolk.enqueue('derive', jsonb_build_object('regions', jsonb_build_object(new.region, true)),
        unique_key => 'derive', on_duplicate => 'merge');
    return null;
end
$$;

create trigger enterprise_changed
after insert or update on stats.enterprise
for each row execute function stats.enterprise_changed();
