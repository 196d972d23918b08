//! The filter of a list of tasks, as it stands in an address: the same names as in the API.

use kinfolk_core::inspect::Filter;

use super::address::Address;
use crate::api::Filtered;
use crate::problem::Problem;

/// Names of an address that are no filter.
const OTHERS: [&str; 6] = ["before", "after", "order", "limit", "q", "count"];

/// The filters there are, as the field that finds takes them.
pub(crate) const NAMES: [&str; 18] = [
    "state",
    "queue",
    "command",
    "parent",
    "root",
    "has_children",
    "fan_out",
    "follows",
    "roots",
    "unique",
    "key",
    "created_after",
    "created_before",
    "finished_after",
    "finished_before",
    "failure_kind",
    "failure_text",
    "payload",
];

/// A part of the filter, as a chip that removes itself.
pub(crate) struct Chip {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) without: String,
}

/// The filter that an address asks for.
pub(crate) fn filter(address: &Address, limit: usize) -> Result<Filter, Problem> {
    let parts: Vec<_> = address.parts().iter().filter(|(name, _)| name != "count").cloned().collect();
    let Filtered(query) = Filtered::read(&parts)?;
    Ok(Filter { limit, ..query.filter()? })
}

/// The filter in chips.
pub(crate) fn chips(address: &Address) -> Vec<Chip> {
    let is_filter = |name: &str| !OTHERS.contains(&name) && name != "state";
    let parts = address.parts().iter().filter(|(name, _)| is_filter(name));
    let chip = |(name, value): &(String, String)| Chip {
        name: name.replace('_', " "),
        value: value.clone(),
        without: Address::at(&address.without_part(name, value)).without(&["before", "after"]),
    };
    parts.map(chip).collect()
}

/// The filter alone, as a query.
pub(crate) fn as_text(address: &Address) -> Vec<(String, String)> {
    address.parts().iter().filter(|(name, _)| !OTHERS.contains(&name.as_str())).cloned().collect()
}
