//! The files of the example, in the order of its `install.sql`; a test holds both lists together. The folder `register` of this crate is a
//! link to `examples/register`, because a package holds only files below its own folder.

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// The SQL that installs the register.
        pub(super) const ALL: &[&str] = &[$(include_str!(concat!("../../../register/", $name))),+];

        #[cfg(test)]
        const NAMES: &[&str] = &[$($name),+];
    };
}

files![
    "sql/tables.sql",
    "sql/generator/codes.sql",
    "sql/timeline.sql",
    "sql/change_log.sql",
    "sql/triggers.sql",
    "sql/derived.sql",
    "sql/facets.sql",
    "sql/derive/collect_changes.sql",
    "sql/derive/affected_enterprises.sql",
    "sql/derive/closed_groups.sql",
    "sql/derive/plan_batches.sql",
    "sql/derive/stage_establishments.sql",
    "sql/derive/stage_legal_units.sql",
    "sql/derive/stage_enterprises.sql",
    "sql/derive/refresh_units.sql",
    "sql/derive/derive_statistical_unit.sql",
    "sql/derive/merge_staged.sql",
    "sql/derive/merge_spans.sql",
    "sql/derive/flush_staging.sql",
    "sql/derive/derive_reports.sql",
    "sql/derive/refresh_history.sql",
    "sql/derive/derive_statistical_history.sql",
    "sql/derive/refresh_partition.sql",
    "sql/derive/derive_statistical_unit_facet.sql",
    "sql/derive/add_difference.sql",
    "sql/derive/reduce_facets.sql",
    "sql/derive/statistical_unit_facet_reduce.sql",
    "sql/derive/refresh_history_facet.sql",
    "sql/derive/derive_statistical_history_facet.sql",
    "sql/generator/draw.sql",
    "sql/generator/units.sql",
    "sql/generator/generate.sql",
    "sql/generator/changes.sql",
    "sql/generator/upload_made.sql",
    "sql/import/import_job.sql",
    "sql/import/import_rows.sql",
    "sql/import/import_kinds.sql",
    "sql/import/import_job_process.sql",
    "sql/cleanup.sql",
    "sql/commands.sql",
    "sql/status.sql",
    "sql/check.sql",
    "sql/stages.sql",
    "sql/plain.sql",
];

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn psql_and_the_demo_install_the_same_files() {
        let script = include_str!("../../../register/install.sql");
        let listed: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("\\ir ")).collect();
        assert_eq!(listed, NAMES);
    }
}
