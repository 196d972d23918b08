-- What a front end asks: is anything being derived, and how far has it come. The statuses of the same names are told on the channel
-- kinfolk_status, each time that they turn.

create function register.is_importing() returns boolean
language sql stable
as $$
    select kinfolk.is_active(array['import_job_process'])
$$;

create function register.is_deriving_statistical_units() returns boolean
language sql stable
as $$
    select kinfolk.is_active(array['collect_changes', 'derive_statistical_unit', 'statistical_unit_refresh_batch',
        'derive_statistical_unit_continue', 'statistical_unit_flush_staging'])
$$;

create function register.is_deriving_reports() returns boolean
language sql stable
as $$
    select kinfolk.is_active(array['derive_reports', 'derive_statistical_history', 'derive_statistical_history_period',
        'derive_statistical_unit_facet', 'derive_statistical_unit_facet_partition', 'statistical_unit_facet_reduce',
        'derive_statistical_history_facet', 'derive_statistical_history_facet_period'])
$$;

select kinfolk.put_status('is_importing', array['import_job_process']);
select kinfolk.put_status('is_deriving_statistical_units', array['collect_changes', 'derive_statistical_unit',
    'statistical_unit_refresh_batch', 'derive_statistical_unit_continue', 'statistical_unit_flush_staging']);
select kinfolk.put_status('is_deriving_reports', array['derive_reports', 'derive_statistical_history',
    'derive_statistical_history_period', 'derive_statistical_unit_facet', 'derive_statistical_unit_facet_partition',
    'statistical_unit_facet_reduce', 'derive_statistical_history_facet', 'derive_statistical_history_facet_period']);
