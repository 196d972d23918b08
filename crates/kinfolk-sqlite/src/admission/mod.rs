//! Admission: the candidates of a claim in order, the keys that have room for them, and waiting behind keys that have none.

pub(crate) mod blocked;
pub(crate) mod entry;
pub(crate) mod line;
pub(crate) mod rate;
pub(crate) mod reserve;
pub(crate) mod rooms;
