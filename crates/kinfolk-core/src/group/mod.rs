//! Groups: how many tasks of one key may run at once, and how many may start in a span of time.
//!
//! A command declares groups, each with a limit for every key of it: `{tenant: 20, message: 1}`. A task may give a key for
//! each; where it gives none, that group does not concern it. It starts when all its keys have room, and takes a **slot** of
//! each of them or of none. [`crate::admit`] decides which tasks take slots.
//!
//! A group belongs to the command that declares it, unless it is declared as shared: all commands that declare a shared
//! group of one name count in it together. The name `total` is the command's own total: every task of it takes a slot there,
//! and nobody gives a key.

mod keys;
mod rate;
mod setting;
mod spec;
mod view;

pub use self::keys::{Keys, check_key};
pub use self::rate::Rate;
pub(crate) use self::rate::micros;
pub use self::setting::{GroupRef, Setting};
pub use self::spec::{GroupSpec, Groups};
pub use self::view::{GroupView, KeyFilter, KeyView};

/// The name of a command's own total.
pub const TOTAL: &str = "total";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::InputError;
    use crate::limits::{GROUP_KEY_BYTES_MAX, GROUP_LIMIT_MAX};
    use crate::name::{CommandName, GroupName};

    #[test]
    fn groups_are_read_from_a_number_or_by_name() {
        let read = |text| serde_json::from_str::<Groups>(text).unwrap();
        assert_eq!(read("5"), Groups::total(5));
        let tenant = GroupName::new("tenant").unwrap();
        assert_eq!(read(r#"{"tenant": 20}"#), Groups::new().and(tenant.clone(), GroupSpec::limit(20)));
        let whole = read(r#"{"tenant": {"rate": {"count": 7, "per_us": 1000000, "burst": 2}, "shared": true}}"#);
        assert_eq!(whole.0[&tenant].rate.unwrap().interval_us(), 142_858);
        assert_eq!(read(&serde_json::to_string(&whole).unwrap()), whole);
        assert!(serde_json::from_str::<Groups>(r#"{"tenant": {"limits": 3}}"#).is_err());
    }

    #[test]
    fn groups_and_keys_are_made_of_names_and_values() {
        let tenant = GroupName::new("tenant").unwrap();
        assert_eq!(Groups::of([("total", 5)]).unwrap(), Groups::total(5));
        let spec = GroupSpec::limit(2).and_rate(Rate::per_minute(9).burst(3)).hold().shared();
        let rate = Some(Rate { count: 9, per: Duration::from_secs(60), burst: 3 });
        assert_eq!(spec, GroupSpec { limit: Some(2), rate, hold: true, shared: true });
        let groups = Groups::of([("tenant", spec)]).unwrap();
        assert_eq!(Groups::of(groups.clone()).unwrap(), groups);
        assert_eq!(Keys::of(Some(("tenant", "acme"))).unwrap().get(&tenant), Some("acme"));
        assert!(matches!(Groups::of([("two words", 1)]), Err(InputError::Name { kind: "group", .. })));
        assert!(matches!(Keys::of([("", "acme")]), Err(InputError::Name { kind: "group", .. })));
    }

    #[test]
    fn bad_groups_and_keys_are_refused() {
        let tenant = GroupName::new("tenant").unwrap();
        let total = GroupName::total();
        let rate = |count, per, burst| GroupSpec { rate: Some(Rate { count, per, burst }), ..GroupSpec::default() };
        for spec in [
            GroupSpec::default(),
            GroupSpec::limit(GROUP_LIMIT_MAX + 1),
            rate(0, Duration::from_secs(1), 1),
            rate(1, Duration::from_secs(1), 0),
            rate(1, Duration::ZERO, 1),
            rate(2_000, Duration::from_millis(1), 1_000_001),
        ] {
            assert!(Groups::new().and(tenant.clone(), spec.clone()).check().is_err(), "{spec:?}");
        }
        assert!(Groups::new().and(total.clone(), GroupSpec { shared: true, ..GroupSpec::limit(1) }).check().is_err());
        for key in ["", "nul\0", &"x".repeat(GROUP_KEY_BYTES_MAX + 1)] {
            assert!(Keys::new().and(tenant.clone(), key).check().is_err(), "{key:?}");
        }
        let total_of_mail = GroupRef::of(CommandName::new("mail").unwrap(), total.clone());
        assert!(total_of_mail.check_setting(Some("x"), &Setting::default()).is_err());
        assert!(total_of_mail.check_setting(None, &Setting::default()).is_ok());
        assert!(Keys::new().and(total, "x").check().is_err());
        assert!(Keys::new().and(tenant, "åse & co").check().is_ok());
    }
}
