-- psql -f install.sql: the whole register, on a database that `kinfolk migrate` has prepared.
\set ON_ERROR_STOP on
begin;
\ir sql/tables.sql
\ir sql/generator/codes.sql
\ir sql/timeline.sql
\ir sql/change_log.sql
\ir sql/triggers.sql
\ir sql/derived.sql
\ir sql/facets.sql
\ir sql/derive/collect_changes.sql
\ir sql/derive/affected_enterprises.sql
\ir sql/derive/closed_groups.sql
\ir sql/derive/plan_batches.sql
\ir sql/derive/stage_establishments.sql
\ir sql/derive/stage_legal_units.sql
\ir sql/derive/stage_enterprises.sql
\ir sql/derive/refresh_units.sql
\ir sql/derive/derive_statistical_unit.sql
\ir sql/derive/merge_staged.sql
\ir sql/derive/merge_spans.sql
\ir sql/derive/flush_staging.sql
\ir sql/derive/derive_reports.sql
\ir sql/derive/refresh_history.sql
\ir sql/derive/derive_statistical_history.sql
\ir sql/derive/refresh_partition.sql
\ir sql/derive/derive_statistical_unit_facet.sql
\ir sql/derive/add_difference.sql
\ir sql/derive/reduce_facets.sql
\ir sql/derive/statistical_unit_facet_reduce.sql
\ir sql/derive/refresh_history_facet.sql
\ir sql/derive/derive_statistical_history_facet.sql
\ir sql/generator/draw.sql
\ir sql/generator/units.sql
\ir sql/generator/generate.sql
\ir sql/generator/changes.sql
\ir sql/generator/upload_made.sql
\ir sql/import/import_job.sql
\ir sql/import/import_rows.sql
\ir sql/import/import_kinds.sql
\ir sql/import/import_job_process.sql
\ir sql/cleanup.sql
\ir sql/commands.sql
\ir sql/status.sql
\ir sql/check.sql
\ir sql/stages.sql
\ir sql/plain.sql
commit;
